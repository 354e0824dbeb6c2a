import { randomUUID } from 'node:crypto';
import type { CliRun } from '../../support/cli';
import { expectError, runCli } from '../../support/cli';
import { go, insertedOrder, saveHistory } from '../db/new-orders';
import { isRunning, openOrder, shownBy, statusOf } from '../../support/orders';
import { startReceiver } from '../../support/receiver';
import type { Stack } from '../../support/stack';
import { startStack } from '../../support/stack';
import { until } from '../../support/until';

jest.setTimeout(60_000);

let stack: Stack;
let env: Record<string, string>;
beforeEach(async () => {
  // No sweep comes by itself and mends what the test broke.
  stack = await startStack({ env: { SWEEP_CHECK_AFTER_MS: '86400000' } });
  env = {
    DATABASE_URL: stack.databaseUrl,
    TEMPORAL_ADDRESS: stack.temporal.connectionOptions.address!,
    TEMPORAL_NAMESPACE: stack.temporal.namespace!,
  };
});
afterEach(() => stack.stop());

const reconcile = (...options: string[]): Promise<CliRun> => runCli(['reconcile', ...options], env);

/** What differs, by order. */
async function differences(...options: string[]): Promise<Record<string, string>> {
  const { json } = await reconcile('--json', ...options);
  const found: { order_id: string; difference: string }[] = json().differences;
  return Object.fromEntries(found.map(({ order_id, difference }) => [order_id, difference]));
}

async function terminated(events: string[] = [], data: Record<string, unknown> = {}): Promise<string> {
  const id = await openOrder(stack, data, events);
  await stack.client.workflow.getHandle(`order-${id}`).terminate('a test');
  return id;
}

const SINCE_LONG = '2020-01-01T00:00:00Z';

/** A row that a save went to which the workflow knows nothing of. */
async function rowAhead(): Promise<string> {
  const id = await openOrder(stack);
  await stack.db.query('update order_timeline set at = $2 where order_id = $1', [id, SINCE_LONG]);
  await stack.db.query(`update orders set version = 2, status = 'PENDING' where id = $1`, [id]);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, at)
     values ($1, 2, 'signup_started', 'CREATED', 'PENDING', 'checkout', $2)`,
    [id, SINCE_LONG],
  );
  return id;
}

/** A row as a backup from before the last change has it. */
async function rowBehind(): Promise<string> {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query('delete from order_timeline where order_id = $1 and version = 2', [id]);
  await stack.db.query(`update orders set version = 1, status = 'CREATED' where id = $1`, [id]);
  return id;
}

test('orders that agree are no difference, whether they are open, ended or long forgotten by Temporal', async () => {
  await openOrder(stack);
  await openOrder(stack, {}, ['signup_started', 'approved']);
  const ended = await openOrder(stack, {}, ['failed']);
  const cancelled = await openOrder(stack);
  await stack.api.cancel(cancelled);
  for (const id of [ended, cancelled]) {
    await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the workflow has ended');
  }
  const forgotten = await insertedOrder(stack.db, { webhookUrl: null });
  await saveHistory(stack.db, go(forgotten, 'failed'), 1000);
  expect(await reconcile()).toMatchObject({ code: 0, stdout: '5 compared, 0 differ\n', stderr: '' });
  const run = await reconcile('--json');
  expect(run.code).toBe(0);
  expect(run.json()).toEqual({ differences: [], compared: 5, differing: 0 });
});

test('every way to differ is told, ends with 1, and is left as it is', async () => {
  const receiver = await startReceiver();
  receiver.answerWith(500);
  const open = await terminated();
  const unsent = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => receiver.deliveries.length > 0, 'the first attempt failed');
  await stack.client.workflow.getHandle(`order-${unsent}`).terminate('a test');
  const [ahead, behind] = [await rowAhead(), await rowBehind()];
  const other = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query(`update orders set status = 'APPROVED' where id = $1`, [other]);
  const fine = await openOrder(stack);
  const rows = async () => (await stack.db.query('select o::text from orders o order by id')).rows;

  const before = await rows();
  const run = await reconcile('--json');
  expect(run).toMatchObject({ code: 1, stderr: '' });
  const { differences: found, ...sums } = run.json();
  expect(sums).toEqual({ compared: 6, differing: 5 });
  expect(found).toContainEqual({
    order_id: ahead,
    seller_id: stack.seller.id,
    difference: 'workflow_behind',
    row: { version: 2, status: 'PENDING' },
    workflow: { running: true, version: 1, status: 'CREATED' },
  });
  expect(await differences()).toEqual({
    [open]: 'not_running',
    [unsent]: 'webhooks_not_running',
    [ahead]: 'workflow_behind',
    [behind]: 'row_behind',
    [other]: 'different',
  });
  expect(await rows()).toEqual(before);
  const { stdout } = await reconcile();
  expect(stdout).toContain(
    `${ahead} workflow_behind: the workflow lacks changes that the row has (row: version 2, PENDING; workflow: version 1, CREATED)\n`,
  );
  expect(stdout).not.toContain(fine);
  expect(stdout).toMatch(/\n6 compared, 5 differ\n$/);
  await receiver.stop();
});

test('--repair has the sweep mend what it can, and says what it cannot', async () => {
  const [open, ahead, behind] = [await terminated(), await rowAhead(), await rowBehind()];
  const { code, stdout } = await reconcile('--repair');
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`^${open} not_running: .*; handed to the sweep$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${ahead} workflow_behind: .*; handed to the sweep$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${behind} row_behind: .*; the sweep does not mend it$`, 'm'));
  await until(() => isRunning(stack.client, open), 'the workflow runs again');
  await until(async () => (await shownBy(stack.client, ahead).catch(() => null))?.version === 2, 'it has read the row');
  expect(await differences()).toEqual({ [behind]: 'row_behind' });
});

test('a workflow that is gone altogether, or was never started, is missed; one still to be started is not', async () => {
  await stack.stopWorker();
  const answers = [await stack.api.create(), await stack.api.create(), await stack.api.create()];
  const [gone, never, fresh] = answers.map(({ body }) => body.data.id as string) as [string, string, string];
  for (const id of [gone, never, fresh]) {
    await until(() => isRunning(stack.client, id), 'it runs');
    await until(
      async () => (await stack.db.query('select from orders where id = $1 and started', [id])).rowCount,
      'so it is noted',
    );
    await stack.client.workflowService.deleteWorkflowExecution({
      namespace: stack.temporal.namespace!,
      workflowExecution: { workflowId: `order-${id}` },
    });
    await until(async () => (await statusOf(stack.client, id)) === undefined, 'it is gone');
  }
  await stack.db.query('update orders set started = false where id = any($1)', [[never, fresh]]);
  await stack.db.query(`update orders set created_at = now() - interval '2 min' where id = $1`, [never]);
  const run = await reconcile();
  expect(run.stdout).toMatch(new RegExp(`^${gone} not_running: .*; workflow: none\\)$`, 'm'));
  expect(await differences()).toEqual({ [gone]: 'not_running', [never]: 'not_running' });
});

test('a workflow that nobody runs gives no answer', async () => {
  const id = await openOrder(stack);
  await stack.stopWorker();
  const run = await reconcile('--repair');
  expect(run.code).toBe(1);
  expect(run.stdout).toMatch(new RegExp(`^${id} no_answer: .*is a worker up.*; the sweep does not mend it$`, 'm'));
});

test('--seller and --since leave the others out', async () => {
  const [old, young] = [await terminated(), await terminated()];
  await stack.db.query('update order_timeline set at = $2 where order_id = $1', [old, SINCE_LONG]);
  expect(await differences('--seller', stack.seller.id)).toEqual({ [old]: 'not_running', [young]: 'not_running' });
  expect(await differences('--since', new Date(Date.now() - 3_600_000).toISOString())).toEqual({
    [young]: 'not_running',
  });
  expect(await differences('--since', '2099-01-01')).toEqual({});
  const unknown = randomUUID();
  expectError(await reconcile('--seller', unknown), 1, new RegExp(`there is no seller ${unknown}$`, 'm'));
});
