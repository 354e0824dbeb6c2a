import { randomUUID } from 'node:crypto';
import { type CliRun, expectError, runCli } from '../../support/cli';
import { findOrder } from '../../../src/db/find-orders';
import { createOrderWorkflows } from '../../../src/temporal/order-workflows';
import { insertNewOrder, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';
import { apiOf } from '../../support/api';
import { isRunning, openOrder, queryOrder, statusOf, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { createSeller, useStack } from '../../support/stack';
import { until } from '../../support/until';

jest.setTimeout(600_000);

// No sweep repairs what a test breaks, and no webhook attempt follows the first one.
const stack = useStack(
  {
    env: {
      // The sweep looks for differences at its start, and again after 12 intervals, which is longer than a test may
      // take.
      SWEEP_INTERVAL_MS: '11000',
      SWEEP_START_AFTER_MS: '600000',
      START_TIMEOUT_MS: '60000',
      SWEEP_CHECK_AFTER_MS: '86400000',
      WEBHOOK_RETRY_DELAYS: '0,86400',
    },
  },
  'test',
);
const receiver = useReceiver('test');

const WORKFLOW_OPTIONS = {
  startTimeoutMs: 60_000,
  updateTimeoutMs: 5000,
  encryptPayloads: false,
};
const reconcile = (...options: string[]): Promise<CliRun> => runCli(['reconcile', ...options], stack.env);

/** The kind of each difference that reconcile finds, by order id. */
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

const LONG_AGO = '2020-01-01T00:00:00Z';

/** An order whose row has a change that its workflow lacks. */
async function rowAhead(): Promise<string> {
  const id = await openOrder(stack);
  await stack.db.query(`update orders set version = 2, status = 'PENDING' where id = $1`, [id]);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 2, 'signup_started', 'CREATED', 'PENDING', 'checkout', 'api', $2)`,
    [id, LONG_AGO],
  );
  return id;
}

/** An order whose row was restored from a backup older than its last change. */
async function rowBehind(): Promise<string> {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query('delete from order_timeline where order_id = $1 and version = 2', [id]);
  await stack.db.query(`update orders set version = 1, status = 'CREATED' where id = $1`, [id]);
  return id;
}

/** All orders, without the columns that record a start. */
async function orderRows(): Promise<unknown[]> {
  const { rows } = await stack.db.query(`select to_jsonb(o) as row from orders o order by id`);
  return rows;
}

/** True until the start of every workflow is recorded, and after an order was handed to the sweep. */
async function anyDueSoon(): Promise<boolean> {
  const { rowCount } = await stack.db.query(`select from order_work where sweep_at < now() + interval '1 hour'`);
  return rowCount !== 0;
}

/** True if the first attempt is recorded. The receiver gets the webhook earlier than that. */
async function hasAttempt(orderId: string): Promise<boolean> {
  const query = 'select from webhook_event where order_id = $1 and attempts = 1';
  return (await stack.db.query(query, [orderId])).rowCount === 1;
}

test('reconcile reports no difference for matching orders: open, closed, or past the retention of Temporal', async () => {
  await openOrder(stack);
  await openOrder(stack, {}, ['signup_started', 'approved']);
  const ended = await openOrder(stack, {}, ['failed']);
  const cancelled = await openOrder(stack);
  await stack.api.cancel(cancelled);
  for (const id of [ended, cancelled]) {
    await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the workflow is completed');
  }
  const expired = await insertNewOrder(stack.db, { webhookUrl: null });
  await saveHistory(stack.db, applyEvents(expired, 'failed'), 1000);
  expect(await reconcile()).toMatchObject({ code: 0, stdout: '5 compared, 0 differ\n', stderr: '' });
  const run = await reconcile('--json');
  expect(run.code).toBe(0);
  expect(run.json()).toEqual({ differences: [], compared: 5, differing: 0 });
});

test('reconcile lists differences by kind, exits with 1 and changes nothing', async () => {
  receiver.answerWith(500);
  const open = await terminated();
  const unsent = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => hasAttempt(unsent), 'the first attempt is recorded');
  await stack.client.workflow.getHandle(`order-${unsent}`).terminate('a test');
  const [ahead, behind] = [await rowAhead(), await rowBehind()];
  const other = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query(`update orders set status = 'APPROVED' where id = $1`, [other]);
  const fine = await openOrder(stack);
  // The sweep would repair the differences: it checks an order some seconds after each save.
  await stack.db.query(`update order_work set sweep_at = now() + interval '2 hours'`);

  const before = await orderRows();
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
  expect(await orderRows()).toEqual(before);
  expect(await anyDueSoon()).toBe(false);
  const { stdout } = await reconcile();
  expect(stdout).toContain(
    `${ahead} workflow_behind: the row has changes that the workflow does not have (row: version 2, PENDING; workflow: version 1, CREATED)\n`,
  );
  expect(stdout).not.toContain(fine);
  expect(stdout).toMatch(/\n6 compared, 5 differ\n$/);
});

test('reconcile --repair hands to the sweep what it can repair', async () => {
  const [open, ahead, behind] = [await terminated(), await rowAhead(), await rowBehind()];
  const { code, stdout } = await reconcile('--repair');
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`^${open} not_running: .*; handed to the sweep$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${ahead} workflow_behind: .*; handed to the sweep$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${behind} row_behind: .*; handed to the sweep$`, 'm'));
  await until(() => isRunning(stack.client, open), 'the workflow runs again');
  await until(
    async () => (await queryOrder(stack.client, ahead).catch(() => null))?.version === 2,
    'the workflow has read the row',
  );
  await until(async () => (await timelineOf(stack, behind)).length === 2, 'the workflow has saved its change again');
  expect(await differences()).toEqual({});
});

const MINUTES_AGO = "now() - interval '5 minutes'";

async function ended(events: string[]): Promise<string> {
  const id = await openOrder(stack, {}, events);
  await stack.client.workflow.getHandle(`order-${id}`).result();
  return id;
}

/** Restores the row of a closed order to what a backup held after `version`. */
async function restoreRow(id: string, version: number, status: string): Promise<void> {
  await stack.db.query('delete from order_timeline where order_id = $1 and version > $2', [id, version]);
  await stack.db.query('update orders set version = $2, status = $3, cancelled_at = null where id = $1', [
    id,
    version,
    status,
  ]);
}

test('reconcile --repair brings the row of a settled order forward, ends a run that is behind its row, and leaves different changes to a person', async () => {
  const behind = await ended(['failed']);
  expect((await stack.api.cancel(behind)).status).toBe(200);
  await stack.client.workflow.getHandle(`order-${behind}`).result();
  await restoreRow(behind, 2, 'UNSUCCESSFUL');
  const reset = await ended(['failed']);
  await stack.db.query(`update order_timeline set at = ${MINUTES_AGO} where order_id = $1 and version = 2`, [reset]);
  const running = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 3, 'failed', 'PENDING', 'UNSUCCESSFUL', 'checkout', 'api', ${MINUTES_AGO})`,
    [running],
  );
  await stack.db.query(`update orders set version = 3, status = 'UNSUCCESSFUL' where id = $1`, [running]);
  await stack.db.query('delete from order_work where order_id = $1', [running]);
  expect(await differences('--repair')).toEqual({
    [behind]: 'row_behind',
    [reset]: 'different',
    [running]: 'workflow_behind',
  });
  await until(async () => (await statusOf(stack.client, running)) === 'COMPLETED', 'the open run has ended');
  await until(
    async () => (await timelineOf(stack, behind)).some(({ event }) => event === 'cancel'),
    'the row has the cancel again',
  );
  expect(await differences()).toEqual({ [reset]: 'different' });
});

test('reconcile --repair ends the run of a settled order, and resumes an order for its webhooks', async () => {
  receiver.answerWith(500);
  const failed = async (): Promise<string> => {
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
    await until(() => hasAttempt(id), 'the first attempt is recorded');
    return id;
  };
  const [running, unsent] = [await failed(), await failed()];
  // A run that has read changes of some minutes ago: those of the last half minute may not be in its history yet.
  await stack.db.query(`update order_work set saved_at = saved_at - interval '5 minutes' where order_id = $1`, [
    running,
  ]);
  await stack.client.workflow.getHandle(`order-${running}`).terminate('a test');
  await stack.db.query('update order_work set sweep_at = now() where order_id = $1', [running]);
  await until(() => queryOrder(stack.client, running).catch(() => null), 'a new run has read the row');
  await stack.db.query(`update webhook_event set state = 'delivered', next_attempt_at = null where order_id = $1`, [
    running,
  ]);
  await stack.db.query('delete from order_work where order_id = $1', [running]);
  await stack.client.workflow.getHandle(`order-${unsent}`).terminate('a test');
  await stack.db.query(`update order_work set sweep_at = now() + interval '2 hours' where order_id = $1`, [unsent]);
  const found = await differences('--repair');
  expect(found).toEqual({ [running]: 'still_running', [unsent]: 'webhooks_not_running' });
  await until(async () => (await statusOf(stack.client, running)) === 'COMPLETED', 'the open run has ended');
  await until(() => isRunning(stack.client, unsent), 'the workflow runs again');
  await until(async () => Object.keys(await differences()).length === 0, 'nothing differs');
});

test('reconcile asks which of two different changes is right, and --keep-row keeps that of the row', async () => {
  const id = await ended(['signup_started', 'approved', 'completed']);
  await restoreRow(id, 3, 'APPROVED');
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 4, 'cancel', 'APPROVED', 'UNSUCCESSFUL', 'seller', 'api', now())`,
    [id],
  );
  await stack.db.query(
    `update orders set version = 4, status = 'UNSUCCESSFUL', cancelled_at = at from order_timeline t
    where id = $1 and t.order_id = id and t.version = 4`,
    [id],
  );
  expect((await reconcile('--repair')).stdout).toMatch(
    new RegExp(`^${id} different: .*; decide which is right: --keep`, 'm'),
  );
  expect((await reconcile('--repair', '--keep-row')).stdout).toMatch(
    new RegExp(`^${id} different: .*; the row is kept`, 'm'),
  );
  await stack.client.workflow.getHandle(`order-${id}`).result();
  expect(await differences()).toEqual({});
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'recovered',
    channel: 'cli',
    reason: expect.stringContaining('operator'),
  });
});

/** Restores a backup that is older than the orders. */
async function deleteRows(...ids: string[]): Promise<void> {
  for (const id of ids) {
    for (const table of ['order_work', 'order_timeline']) {
      await stack.db.query(`delete from ${table} where order_id = $1`, [id]);
    }
    await stack.db.query('delete from orders where id = $1', [id]);
  }
}

test('reconcile finds orders without a row, rebuilds what the workflow holds and reports the rest as lost', async () => {
  const open = await openOrder(stack, { reference: 'rebuilt', amount: 12.34 }, ['signup_started', 'approved']);
  const closed = await ended(['failed']);
  const taken = await openOrder(stack, { reference: 'taken' });
  await deleteRows(open, closed, taken);
  const successor = await openOrder(stack, { reference: 'taken' });
  await until(async () => Object.keys(await differences()).length === 3, 'visibility shows the workflows');
  const { stdout } = await reconcile('--repair');
  expect(stdout).toMatch(new RegExp(`^${open} row_missing: .*; rebuilt; its pay link, .* are lost$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${closed} row_missing: .*; rebuilt`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${taken} row_missing: .*; lost: another order has its reference`, 'm'));
  expect(stdout).not.toContain(successor);
  expect((await stack.api.get(open)).body.data).toMatchObject({
    status: 'APPROVED',
    amount: 12.34,
    reference: 'rebuilt',
  });
  expect((await stack.api.progress(open, 'completed')).body.data.status).toBe('SUCCESSFUL');
  expect(await differences()).toEqual({ [taken]: 'row_missing' });
});

test('reconcile --repair rebuilds an order once the sweep has closed the order that had its reference', async () => {
  const first = await openOrder(stack, { reference: 'reused' });
  expect((await stack.api.cancel(first)).status).toBe(200);
  await stack.client.workflow.getHandle(`order-${first}`).result();
  const second = await openOrder(stack, { reference: 'reused' });
  await stack.stopWorker();
  await deleteRows(second);
  await restoreRow(first, 1, 'CREATED');
  await until(async () => (await differences())[second], 'visibility shows the workflow');
  const { stdout } = await reconcile('--repair');
  expect(stdout).toMatch(new RegExp(`^${first} row_behind: .*; handed to the sweep$`, 'm'));
  expect(stdout).toMatch(
    new RegExp(`^${second} row_missing: .*; another order has its reference .* repair again`, 'm'),
  );
  await stack.startWorker();
  await until(async () => !(await differences())[first], 'the sweep has closed the first order');
  expect((await reconcile('--repair')).stdout).toMatch(new RegExp(`^${second} row_missing: .*; rebuilt`, 'm'));
  expect(await differences()).toEqual({});
});

test('reconcile --repair rebuilds an order whose newest run has failed because its row was missing', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved']);
  const workflow = stack.client.workflow.getHandle(`order-${id}`);
  const stored = (await findOrder(stack.db, id))!;
  const { runId } = await workflow.describe();
  await deleteRows(id);
  const request = { event: 'completed', actor: 'checkout', channel: 'api', reason: null } as const;
  const workflows = createOrderWorkflows(stack.client, WORKFLOW_OPTIONS);
  await expect(workflows.change(stored, request)).rejects.toThrow();
  await until(async () => {
    const run = await workflow.describe();
    return run.runId !== runId && run.status.name === 'FAILED';
  }, 'a new run has failed');
  await until(async () => (await differences())[id], 'visibility shows the workflow');
  expect((await reconcile('--repair')).stdout).toMatch(new RegExp(`^${id} row_missing: .*; rebuilt`, 'm'));
  expect((await findOrder(stack.db, id))?.order).toMatchObject({ status: 'APPROVED' });
  await until(async () => Object.keys(await differences()).length === 0, 'the sweep has resumed the order');
});

test('a cancel that an operator sends to the run of an order without a row is carried out once the row is rebuilt', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await deleteRows(id);
  const workflow = stack.client.workflow.getHandle(`order-${id}`);
  await workflow.signal('cancel', { reason: 'fraud' });
  await until(async () => (await workflow.describe()).status.name === 'FAILED', 'the run has failed');
  await until(async () => (await differences())[id], 'visibility shows the workflow');
  expect((await reconcile('--repair')).stdout).toMatch(new RegExp(`^${id} row_missing: .*; rebuilt`, 'm'));
  await until(
    async () => (await findOrder(stack.db, id))?.order.status === 'UNSUCCESSFUL',
    'the cancel is carried out',
  );
});

test('reconcile --repair rebuilds an order of a sandbox account', async () => {
  const seller = await createSeller(stack.db, undefined, { sandbox: true });
  const api = apiOf(stack.api.url, seller, stack.api.checkoutKey);
  const id = await openOrder({ ...stack, api });
  await deleteRows(id);
  await until(async () => (await differences())[id], 'visibility shows the workflow');
  expect((await reconcile('--repair')).stdout).toMatch(new RegExp(`^${id} row_missing: .*; rebuilt`, 'm'));
  expect((await findOrder(stack.db, id))?.order).toMatchObject({ sellerId: seller.id, sandbox: true });
  expect(await differences()).toEqual({});
});

test('reconcile --repair prints a repair that fails, continues with the others, and exits with 1', async () => {
  const failing = [await openOrder(stack, { reference: 'failing-1' })];
  const fine = await openOrder(stack);
  failing.push(await openOrder(stack, { reference: 'failing-2' }));
  await deleteRows(fine, ...failing);
  await stack.db.query(
    `create function fail() returns trigger language plpgsql as $$ begin raise 'refused by\na test'; end $$`,
  );
  await stack.db.query(
    `create trigger fail before insert on orders for each row
     when (new.reference like 'failing-_') execute function fail()`,
  );
  await until(async () => Object.keys(await differences()).length === 3, 'visibility shows the workflows');
  const { code, stdout, stderr } = await reconcile('--repair');
  for (const id of failing) {
    expect(stdout).toMatch(new RegExp(`^${id} row_missing: .*; repair failed: refused by a test$`, 'm'));
  }
  expect(stdout).toMatch(new RegExp(`^${fine} row_missing: .*; rebuilt`, 'm'));
  expect(stdout).toMatch(/\n3 compared, 3 differ\n$/);
  expect([code, stderr]).toEqual([1, 'error: failed repairs: 2; fix the error of each, then repeat the command\n']);
  const { differences: found } = (await reconcile('--repair', '--json')).json();
  const failure = { repair: 'failed', error: 'refused by a test' };
  expect(found).toHaveLength(2);
  for (const id of failing) expect(found).toContainEqual(expect.objectContaining({ order_id: id, ...failure }));
});

test('reconcile --repair reports an order whose account is missing', async () => {
  const seller = await createSeller(stack.db);
  const id = await openOrder({ ...stack, api: apiOf(stack.api.url, seller, stack.api.checkoutKey) });
  await deleteRows(id);
  for (const table of ['api_key', 'webhook_secret']) {
    await stack.db.query(`delete from ${table} where seller_id = $1`, [seller.id]);
  }
  await stack.db.query('delete from seller where id = $1', [seller.id]);
  await until(async () => (await differences())[id], 'visibility shows the workflow');
  expect((await reconcile('--repair')).stdout).toMatch(
    new RegExp(`^${id} row_missing: .*; lost: its account is missing`, 'm'),
  );
});

test('reconcile reports a deleted workflow and one that never started, but not that of an order that was just created', async () => {
  await stack.stopWorker();
  const responses = [await stack.api.create(), await stack.api.create(), await stack.api.create()];
  const [deleted, neverStarted, fresh] = responses.map(({ body }) => body.data.id as string) as [
    string,
    string,
    string,
  ];
  for (const id of [deleted, neverStarted, fresh]) {
    await until(() => isRunning(stack.client, id), 'the workflow runs');
    await until(
      async () => (await stack.db.query('select from order_work where order_id = $1 and started', [id])).rowCount,
      'the start is recorded',
    );
    await stack.client.workflowService.deleteWorkflowExecution({
      namespace: stack.temporal.namespace!,
      workflowExecution: { workflowId: `order-${id}` },
    });
    await until(async () => (await statusOf(stack.client, id)) === undefined, 'the workflow is deleted');
  }
  await stack.db.query('update order_work set started = false where order_id = any($1)', [[neverStarted, fresh]]);
  await stack.db.query(`update orders set created_at = now() - interval '2 min' where id = $1`, [neverStarted]);
  const run = await reconcile();
  expect(run.stdout).toMatch(new RegExp(`^${deleted} not_running: .*; workflow: none\\)$`, 'm'));
  expect(await differences()).toEqual({ [deleted]: 'not_running', [neverStarted]: 'not_running' });
});

test('reconcile needs no worker, but reports a run that has not read the row yet', async () => {
  const id = await terminated();
  const fine = await openOrder(stack);
  await stack.stopWorker();
  const workflows = createOrderWorkflows(stack.client, WORKFLOW_OPTIONS);
  await workflows.resume((await findOrder(stack.db, id))!.order, {
    saved: null,
    unprocessed: [],
    reason: null,
    channel: 'sweep',
  });
  const { code, stdout } = await reconcile('--repair');
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`^${id} not_loaded: .*is a worker running.*; start a worker`, 'm'));
  expect(stdout).not.toContain(fine);
});

test('--seller and --since select the orders to compare', async () => {
  const [old, recent] = [await terminated(), await terminated()];
  await stack.db.query('update order_timeline set at = $2 where order_id = $1', [old, LONG_AGO]);
  expect(await differences('--seller', stack.seller.id)).toEqual({ [old]: 'different', [recent]: 'not_running' });
  expect(await differences('--since', new Date(Date.now() - 3_600_000).toISOString())).toEqual({
    [recent]: 'not_running',
  });
  expect(await differences('--since', '2099-01-01')).toEqual({});
  const unknown = randomUUID();
  expectError(await reconcile('--seller', unknown), 1, new RegExp(`seller ${unknown} does not exist$`, 'm'));
});
