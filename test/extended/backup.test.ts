import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../src/package';
import { codeBlocks } from './docs/markdown-blocks';
import { useFolder } from '../support/folder';
import { runCli } from '../support/cli';
import { createDatabase } from '../support/database';
import { openOrder, timelineOf } from '../support/orders';
import { hasPostgresTools, pathOfPostgresTools } from '../support/postgres-tools';
import { killProcesses } from '../support/processes';
import { useReceiver } from '../support/receiver';
import { startService } from '../support/service';
import { type Stack, useStack } from '../support/stack';
import { until } from '../support/until';
import { useResource } from '../support/use-resource';

jest.setTimeout(600_000);

// Both end before their databases are dropped.
afterAll(() => killProcesses());
const restored = useResource(
  () => createDatabase({ isEmpty: true }),
  (database) => database.drop(),
);
const stack = useStack({ worker: false, env: { UPDATE_TIMEOUT_MS: '60000' } });
const receiver = useReceiver();

/** The commands of docs/operators/backups.md, as printed. */
const commands = codeBlocks('docs/operators/backups.md')
  .filter(({ language }) => language === 'console')
  .flatMap(({ code }) => code.trimEnd().split('\n'));

const changesOf = async (of: Pick<Stack, 'db'>, id: string) =>
  (await timelineOf(of, id)).filter(({ version }) => version !== null);

const folder = useFolder();

/** Returns what the command prints. */
async function run(name: string): Promise<string> {
  const command = commands.find((one) => one.startsWith(name))!;
  const env = { PATH: pathOfPostgresTools(), DATABASE_URL: stack.databaseUrl, RESTORE_URL: restored.url };
  return (await promisify(execFile)('bash', ['--norc', '-euc', command], { env, cwd: folder })).stdout;
}

/** Repeats the commands of operators since the backup that the runbook's table names. */
async function repeatForgotten(logged: readonly string[], since: string): Promise<void> {
  const rows = readFileSync(path.join(PACKAGE_ROOT, 'docs/operators/backups.md'), 'utf8')
    .match(/^\| `.*$/gm)!
    .join('\n');
  writeFileSync(path.join(folder, 'worker.log'), logged.join('\n'));
  const actions = (await run('grep'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const { command, arguments: ids, time } of actions) {
    if (time < since || !rows.includes(`\`${command}\``)) continue;
    const repeated = await runCli([...command.split(' '), ...ids], { ...stack.env, DATABASE_URL: restored.url });
    expect(repeated).toMatchObject({ stderr: '', code: 0 });
  }
}

(hasPostgresTools ? test : test.skip)(
  'after a backup and restore by the runbook, a key revoked since stays revoked, and reconcile brings back every change that the dump lacks',
  async () => {
    const before = await startService(stack);
    const open = (events: string[], data = {}) =>
      openOrder({ ...stack, api: before.api }, { webhook_url: receiver.url, ...data }, events);
    const closed = await open(['signup_started', 'approved', 'completed']);
    const changedLater = await open(['signup_started']);
    const cancelledLater = await open([]);
    const untouched = await open(['signup_started', 'approved']);
    await until(() => receiver.deliveries.length >= 6, 'the webhooks have arrived');

    const cli = async (...args: string[]) => (await runCli([...args, '--json'], stack.env)).json();
    const leaked = await cli('key', 'create', stack.seller.id);

    // The dump is taken beside the running service.
    const dumpedAt = new Date().toISOString();
    await run('pg_dump');
    await cli('key', 'revoke', String(leaked.key_id));
    expect((await before.api.progress(changedLater, 'approved')).status).toBe(200);
    expect((await before.api.cancel(cancelledLater)).status).toBe(200);
    const createdLater = await open(['signup_started'], { reference: 'after-the-backup' });
    await until(() => receiver.deliveries.length >= 9, 'the later webhooks have arrived');
    await until(() => before.lines().some((line) => line.includes('"key revoke"')), 'the revocation is logged');
    await before.stop();

    await run('pg_restore');
    await repeatForgotten(before.lines(), dumpedAt);
    const DATABASE_URL = restored.url;
    const reconcile = (...options: string[]) => runCli(['reconcile', ...options], { ...stack.env, DATABASE_URL });
    const differences = async (): Promise<string[][]> =>
      (await reconcile('--json')).json().differences.map((one: any) => [one.order_id, one.difference]);

    // No caller reaches this API before the repair.
    const after = await startService(stack, { DATABASE_URL });
    const found = await until(async () => {
      const all = await differences();
      return all.some(([, difference]) => difference === 'not_compared') ? undefined : all;
    }, 'workers answer for all runs');
    expect(found.sort()).toEqual(
      [
        [changedLater, 'row_behind'],
        [cancelledLater, 'row_behind'],
        [createdLater, 'row_missing'],
      ].sort(),
    );
    await reconcile('--repair');
    // Only a newer backup has the order.
    await until(async () => (await differences()).length === 1, 'all other orders agree');
    expect(await differences()).toEqual([[createdLater, 'row_missing']]);
    expect((await after.api.get(untouched, { key: leaked.api_key })).status).toBe(401);
    expect((await after.api.get(createdLater)).status).toBe(404);
    const statuses = [closed, changedLater, cancelledLater, untouched].map(
      async (id) => (await after.api.get(id)).body.data.status,
    );
    expect(await Promise.all(statuses)).toEqual(['SUCCESSFUL', 'APPROVED', 'UNSUCCESSFUL', 'APPROVED']);
    for (const id of [closed, changedLater, cancelledLater, untouched]) {
      expect(await changesOf({ db: restored.db }, id)).toEqual(await changesOf(stack, id));
    }
    // The service continues, and repeats webhooks under their old ids only.
    for (const id of [changedLater, untouched]) expect((await after.api.progress(id, 'completed')).status).toBe(200);
    await until(
      () => receiver.deliveries.filter(({ body }) => body.data.order.status === 'SUCCESSFUL').length >= 3,
      'their webhooks have arrived',
    );
    const ids = receiver.deliveries.map(({ headers, body }) => [
      `${body.data.order.id} ${body.data.sequence}`,
      headers['webhook-id'],
    ]);
    const distinct = new Set(ids.map((pair) => pair.join()));
    expect(distinct.size).toBe(new Set(ids.map(([event]) => event)).size);
    await after.stop();
  },
);
