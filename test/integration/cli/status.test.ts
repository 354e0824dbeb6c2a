import { readdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { checkTemporal } from '../../../src/cli/status';
import { CHECKOUT_TASK_QUEUE } from '../../../src/checkout/temporal/checkout-workflow-client';
import { inTransaction } from '../../../src/db/pool';
import { createTemporalClient } from '../../../src/temporal/connection';
import { TASK_QUEUES, countPollers } from '../../../src/temporal/server';
import { PACKAGE_ROOT } from '../../../src/package';
import { runCli } from '../../support/cli';
import { constants } from '../../support/constants';
import { openOrder } from '../../support/orders';
import { closedPort } from '../../support/listening-server';
import { startProxy } from '../../support/proxy';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

// Every command is a process, which starts slowly on a busy machine.
jest.setTimeout(600_000);

// No worker starts the order that has waited for nine minutes.
const stack = useStack({
  sandbox: true,
  env: { ...constants({ background: { intervalMs: 200, startAfterMs: 600_000 } }), HOSTED_CHECKOUT: 'true' },
});

const status = (env: Record<string, string> = {}) => runCli(['status', '--json'], { ...stack.env, ...env });
const stateOf = (run: { json: () => any }) =>
  Object.fromEntries(run.json().checks.map((check: any) => [check.part, check.state]));

test('status lists every part of a healthy service, and exits with 0', async () => {
  // Temporal lists a worker once it has polled.
  await until(async () => {
    const counts = await Promise.all(
      [...TASK_QUEUES, CHECKOUT_TASK_QUEUE].map((queue) => countPollers(stack.client, queue)),
    );
    return counts.every((count) => count > 0);
  }, 'a worker polls each task queue');
  const run = await status({ ORDERS_URL: stack.api.url });
  expect(stateOf(run)).toEqual({
    postgres: 'ok',
    schema: 'ok',
    temporal: 'ok',
    'search attributes': 'ok',
    'workers orders': 'ok',
    'workers webhooks': 'ok',
    'workers checkout': 'ok',
    'stuck runs': 'ok',
    api: 'ok',
    'restored orders': 'ok',
    'orders waiting': 'ok',
    'webhooks pending': 'ok',
    'webhooks exhausted': 'ok',
    'payments to reverse': 'ok',
    lender: 'ok',
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const migrations = readdirSync(path.join(PACKAGE_ROOT, 'src/db/migrations')).sort();
  expect(run.json()).toMatchObject({ status: 'ok', version: expect.any(String), backlog: { ordersWaiting: 0 } });
  expect(run.json().checks[1].detail).toBe(migrations.at(-1)!.replace(/\.sql$/, ''));
  const text = await runCli(['status'], stack.env);
  expect(text.stdout).toMatch(/^part +state +detail\n(.*\n)*version +ok +\S+\n\nok\n$/);
});

test('status leaves out the hosted checkout if there is none', async () => {
  const run = await status({ HOSTED_CHECKOUT: 'false' });
  expect(run.code).toBe(0);
  expect(Object.keys(stateOf(run))).not.toEqual(expect.arrayContaining(['workers checkout']));
  expect(Object.keys(stateOf(run))).not.toEqual(expect.arrayContaining(['payments to reverse']));
});

test('status reports a working Postgres as ok while its queries about the work that waits are slow', async () => {
  const run = await inTransaction(stack.db, async (client) => {
    await client.query('set local idle_in_transaction_session_timeout = 0');
    await client.query('lock table start_request in access exclusive mode');
    return status({ ORDERS_URL: stack.api.url });
  });
  expect(run.code).toBe(1);
  expect(stateOf(run)).toMatchObject({ postgres: 'ok', schema: 'ok', backlog: 'failed' });
});

test('status names the endpoints of sellers that do not answer, and needs no person for them', async () => {
  const id = await openOrder(stack, { webhook_url: 'https://shop.example:8443/secret-path' });
  await stack.db.query(
    `insert into webhook_event (id, order_id, seller_id, sequence, body, state)
     values (gen_random_uuid(), $1, $2, 1, '{}', 'exhausted')`,
    [id, stack.seller.id],
  );
  const run = await status({ ORDERS_URL: stack.api.url });
  expect(stateOf(run)).toMatchObject({ 'webhooks exhausted': 'ok' });
  const detailOf = (name: string) => run.json().checks.find(({ part }: any) => part === name).detail;
  expect(detailOf('webhooks exhausted')).toContain(
    `https://shop.example:8443 of seller ${stack.seller.id}: webhooks list`,
  );
  expect(run.code).toBe(0);
});

test('status names each part that needs a person, and exits with 1', async () => {
  const closed = await closedPort();
  const id = await openOrder(stack);
  await stack.db.query(
    `insert into start_request (order_id, seller_id, created_at) values ($1, $2, now() - interval '9 minutes')`,
    [id, stack.seller.id],
  );
  await stack.db.query(
    `insert into webhook_event (id, order_id, seller_id, sequence, body, state)
     values (gen_random_uuid(), $1, $2, 1, '{}', 'exhausted')`,
    [id, stack.seller.id],
  );
  const run = await status({ ORDERS_URL: `http://127.0.0.1:${closed}` });
  expect(run.code).toBe(1);
  expect(run.json().status).toBe('needs a person');
  expect(stateOf(run)).toMatchObject({
    postgres: 'ok',
    api: 'failed',
    'orders waiting': 'failed',
    'webhooks exhausted': 'ok',
  });

  const alone = await status({
    DATABASE_URL: `postgres://orders@127.0.0.1:${closed}/orders`,
    TEMPORAL_ADDRESS: `127.0.0.1:${closed}`,
  });
  expect(alone).toMatchObject({ code: 1, stderr: '' });
  expect(stateOf(alone)).toMatchObject({ postgres: 'failed', schema: 'failed', temporal: 'failed', backlog: 'failed' });
});

test('status reports a Postgres that is read-only', async () => {
  const database = new URL(stack.databaseUrl).pathname.slice(1);
  await stack.db.query(`alter database ${database} set default_transaction_read_only = on`);
  const run = await status();
  await stack.db.query(`alter database ${database} set default_transaction_read_only = off`);
  expect(stateOf(run)).toMatchObject({ postgres: 'failed', schema: 'ok' });
});

test('status reports that Temporal accepts connections and answers no call', async () => {
  const proxy = await startProxy(process.env.TEST_TEMPORAL_ADDRESS!);
  const { namespace } = stack.client.options;
  const client = createTemporalClient({ connectionOptions: { address: proxy.address }, namespace });
  await client.connection.workflowService.getSystemInfo({});
  proxy.blackHole();
  const checks = await checkTemporal(() => Promise.resolve(client), TASK_QUEUES);
  expect(new Set(checks.map(({ state }) => state))).toEqual(new Set(['failed', 'unknown']));
  await client.connection.close();
  proxy.stop();
});

describe('the audit log', () => {
  const audit = async (...options: string[]) => (await runCli(['audit', '--json', ...options], stack.env)).json();

  test('has every command that changes something, with its operator and outcome', async () => {
    const run = (...args: string[]) => runCli(args, stack.env);
    await run('seller', 'list', '--operator', 'jo');
    await run('webhooks', 'resend', '--state', 'exhausted', '--dry-run', '--operator', 'jo');
    await run('reconcile', '--operator', 'jo');
    expect((await run('seller', 'disable', stack.seller.id, '--operator', 'jo')).code).toBe(0);
    expect((await run('seller', 'enable', stack.seller.id, '--operator', 'jo')).code).toBe(0);
    expect((await run('key', 'revoke', '999999', '--operator', 'jo')).code).toBe(1);
    const entries = await audit('--by', 'jo');
    expect(entries.map(({ command, outcome }: any) => [command, outcome])).toEqual([
      ['key revoke', 'failed'],
      ['seller enable', 'succeeded'],
      ['seller disable', 'succeeded'],
    ]);
    expect(entries[0]).toMatchObject({
      error: 'seller key 999999 does not exist',
      arguments: { arguments: ['999999'] },
    });
    expect(await audit('--by', 'jo', '--limit', '1')).toHaveLength(1);
    expect(await audit('--since', '2999-01-01')).toEqual([]);
  });

  test("takes the operator's name from --operator, ORDER_SERVICE_OPERATOR or the system user", async () => {
    await runCli(['checkout-key', 'create'], { ...stack.env, ORDER_SERVICE_OPERATOR: 'sam' });
    await runCli(['checkout-key', 'create', '--operator', 'kim'], { ...stack.env, ORDER_SERVICE_OPERATOR: 'sam' });
    await runCli(['checkout-key', 'create'], stack.env);
    const [system, option, variable] = await audit();
    expect([variable.operator, option.operator]).toEqual(['sam', 'kim']);
    expect(system.operator).toBe(userInfo().username);
    expect(JSON.stringify(await audit())).not.toMatch(/[sc]k_|whsec_/);
  });
});
