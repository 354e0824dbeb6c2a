import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../../src/package';
import { useFolder } from '../../support/folder';
import { constants } from '../../support/constants';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';
import { codeBlocks } from './markdown-blocks';

jest.setTimeout(600_000);

const PAGES = ['docs/operators/operate.md', 'docs/operators/backups.md'];
const stack = useStack({
  env: {
    WEBHOOK_RETRY_DELAYS: '0,0.1',
    CHECKOUT_BASE_URL: 'http://127.0.0.1:3000',
    ...constants({ background: { intervalMs: 1000 } }),
  },
});
const receiver = useReceiver();
const blocks = PAGES.flatMap((page) => codeBlocks(page));
/** One command a line. */
const commands = blocks.flatMap(({ language, code }) => (language === 'sh' ? code.trimEnd().split('\n') : []));
const statements = blocks.flatMap(({ language, code }) => (language === 'sql' ? code.trimEnd().split('\n') : []));

/** What a command prints, where the page names it. The first match counts. */
const EXPECTED: [command: RegExp, output: RegExp][] = [
  [/ order list .*--reference/, /INV-1 +12.5 +(PENDING|UNSUCCESSFUL)/],
  [/ order timeline/, /webhook 1, attempt 2 +system +http_status/],
  [/ payment list/, /^(none|payment_id +amount)/m],
  [/ reconcile/, /\d compared, 0 differ/],
  [/ order cancel \$ORDER_ID/, /^status: +UNSUCCESSFUL$/m],
  [/ order cancel /, /^cancelled: +1\n(.*\n)*failed: +0$/m],
  [/ webhooks list/, / exhausted/],
  [/ webhooks resend/, /^resending: +\d+$/m],
  [/ status/, /postgres[^]*workers orders/],
  [/ seller (update|enable|show)/, /Test Shop Ltd|enabled|seller_id/],
  [/ audit/, /^at +operator/m],
  [/ key create/, /^api_key: +sk_/m],
  [/ key list/, /sk_/],
  [/ key revoke/, /^revoked_at: +2/m],
  [/ webhook-secret rotate/, /whsec_/],
  [/ checkout-key/, /ck_/],
];

const folder = useFolder();
let env: Record<string, string | undefined>;
beforeAll(async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { reference: 'INV-1', amount: 12.5, webhook_url: receiver.url }, [
    'signup_started',
  ]);
  await openOrder(stack);
  const exhausted = `select id from webhook_event where order_id = $1 and state = 'exhausted'`;
  const webhook = await until(async () => (await stack.db.query(exhausted, [id])).rows[0], 'the webhook is exhausted');
  const key = await stack.db.query(`select id from api_key where seller_id = $1`, [stack.seller.id]);
  for (const name of ['dist', 'node_modules', 'package.json']) {
    symlinkSync(path.join(PACKAGE_ROOT, name), path.join(folder, name));
  }
  const { PATH, HOME } = process.env;
  env = {
    ...{ ...stack.env, PATH, HOME, ORDERS_URL: stack.api.url, ORDER_SERVICE_OPERATOR: 'night shift' },
    ...{ ORDER_ID: id, SELLER_ID: stack.seller.id, WEBHOOK_ID: webhook.id, KEY_ID: String(key.rows[0].id) },
  };
});

const countAttempts = async (): Promise<number> =>
  (await stack.db.query('select from webhook_attempt where event_id = $1', [env.WEBHOOK_ID])).rowCount ?? 0;

const text = PAGES.map((page) => readFileSync(path.join(PACKAGE_ROOT, page), 'utf8')).join('\n');
const sections = text.split('\n## ').slice(1);

test('every command of the runbook works as printed, in the order of the page', async () => {
  // `status` exits with 1, because webhooks are exhausted. One shell, whose output is split at form feeds.
  const attempts = await countAttempts();
  const script = commands.map((line) => `printf '\\f'; ${line} || echo "exit code $?"`).join('\n');
  // Not execFileSync: the worker runs in this process.
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-uc', script], { env, cwd: folder });
  const outputs = stdout.split('\f').slice(1);
  expect(stderr.replace(/^npm .*\n/gm, '')).toBe('');
  expect(outputs).toHaveLength(commands.length);
  commands.forEach((command, index) => {
    const [, expected] = EXPECTED.find(([pattern]) => pattern.test(command)) ?? [];
    const output = outputs[index]!.replace(/^\n?> .*\n/gm, '');
    expect({ command, output: expected ? output.trimEnd() : 'not expected' }).toEqual({
      command,
      output: expect.stringMatching(expected ?? /^\b$/),
    });
    expect({ command, output }).toEqual({
      command,
      output: / status/.test(command) ? expect.anything() : expect.not.stringContaining('exit code'),
    });
  });
  await until(async () => (await countAttempts()) > attempts, 'the resent webhook has a new attempt');
});

test.each(statements)('the SQL statement of the runbook works: %s', async (statement) => {
  await expect(stack.db.query(statement)).resolves.toBeDefined();
});

test('the runbook finds the index that an interrupted migration leaves', async () => {
  await stack.db.query('create table example as select 1 as id from generate_series(1, 2)');
  await expect(stack.db.query('create unique index concurrently example_id on example (id)')).rejects.toThrow();
  const query = statements.find((statement) => statement.includes('indisvalid'))!;
  // Postgres sends the error before it ends the command, which the query leaves out until then.
  const left = async () => (await stack.db.query(query)).rows;
  await until(async () => (await left()).length > 0, 'the interrupted command has ended');
  expect(await left()).toEqual([{ index: 'example_id', on_table: 'example' }]);
  const drop = statements.find((statement) => statement.startsWith('drop index'))!;
  await stack.db.query(drop.replace('orders_by_example', 'example_id'));
  expect((await stack.db.query(query)).rows).toEqual([]);
});

test('the Temporal server accepts the query of each case of the runbook that has one', async () => {
  expect(sections.filter((section) => section.includes('\n- Symptom: ')).length).toBeGreaterThanOrEqual(12);
  const queries = [...text.matchAll(/^- UI query: `([^`]+)`/gm)];
  expect(queries).toHaveLength([...text.matchAll(/UI query:/g)].length);
  expect(queries.length).toBeGreaterThanOrEqual(6);
  for (const [, found] of queries) {
    const query = found!.replace('$SELLER_ID', stack.seller.id);
    await expect(stack.client.workflow.count(query)).resolves.toMatchObject({ count: expect.any(Number) });
  }
});

test('the Temporal server accepts the views of the Temporal UI', async () => {
  const [, table = ''] = /\| view \| query \|\n\|.*\n((?:\|.*\n)+)/.exec(text) ?? [];
  const views = [...table.matchAll(/\| `([^`]+)` \|/g)].map(([, query]) => query!);
  expect(views).toHaveLength(3);
  for (const query of views) {
    await expect(stack.client.workflow.count(query)).resolves.toMatchObject({ count: expect.any(Number) });
  }
});
