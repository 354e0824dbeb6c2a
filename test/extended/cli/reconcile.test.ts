import { randomUUID } from 'node:crypto';
import { findOrder, markRowBehind } from '../../../src/db/orders';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';
import { type CliRun, expectError, runCli } from '../../support/cli';
import { constants } from '../../support/constants';
import {
  isRunning,
  noWebhookPending,
  openOrder,
  queryOrder,
  setBack,
  statusOf,
  timelineOf,
} from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { type Stack, useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

/** No background job repairs what a test breaks, and no webhook attempt follows the first one. */
const shared = useStack({
  env: {
    ...constants({ background: { intervalMs: 600_000, startAfterMs: 600_000 } }),
    WEBHOOK_RETRY_DELAYS: '0,86400',
  },
});
const receiver = useReceiver('test');
/** With a seller of its own for each test. */
let stack: Stack;
beforeEach(async () => {
  stack = await withNewSeller(shared);
});

const reconcile = (...options: string[]): Promise<CliRun> =>
  runCli(['reconcile', '--seller', stack.seller.id, ...options], stack.env);
const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const versionOf = async (id: string) => (await findOrder(stack.db, id))!.version;

/** The kind of each difference that reconcile finds, by order id. */
async function differences(...options: string[]): Promise<Record<string, string>> {
  const { json } = await reconcile('--json', ...options);
  const found: { order_id: string; difference: string }[] = json().differences;
  return Object.fromEntries(found.map(({ order_id, difference }) => [order_id, difference]));
}

async function terminated(events: string[] = [], data: Record<string, unknown> = {}): Promise<string> {
  const id = await openOrder(stack, data, events);
  await workflow(id).terminate('a test');
  return id;
}

/** An order whose row has a change that its workflow lacks, as after a restore of Temporal. */
async function workflowBehind(): Promise<string> {
  const id = await openOrder(stack);
  await stack.db.query(`update orders set version = 2, status = 'PENDING' where id = $1`, [id]);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 2, 'signup_started', 'CREATED', 'PENDING', 'checkout', 'api', now())`,
    [id],
  );
  return id;
}

/** An order whose row was restored from a backup older than its last change. */
async function rowBehind(data: Record<string, unknown> = {}): Promise<string> {
  const id = await openOrder(stack, data, ['signup_started', 'approved']);
  if (data.webhook_url !== undefined) await until(() => noWebhookPending(stack, [id]), 'the webhooks are delivered');
  await setBack(stack.db, id, 2, 'PENDING');
  return id;
}

test('matching orders, open or closed, do not differ', async () => {
  await openOrder(stack);
  await openOrder(stack, {}, ['signup_started', 'approved']);
  const closed = await openOrder(stack, {}, ['failed']);
  await workflow(closed).result();
  expect(await reconcile()).toMatchObject({ code: 0, stdout: '2 compared, 0 differ\n', stderr: '' });
  expect((await reconcile('--json')).json()).toEqual({ differences: [], compared: 2, differing: 0 });
});

test('differences are listed by kind, and nothing changes', async () => {
  receiver.answerWith(500);
  const open = await terminated();
  const unsent = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await workflow(unsent).terminate('a test');
  const [ahead, behind] = [await workflowBehind(), await rowBehind()];
  const different = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query(`update order_timeline set event = 'approved' where order_id = $1 and version = 2`, [different]);
  const fine = await openOrder(stack);
  const rows = async () => (await stack.db.query('select to_jsonb(o) as row from orders o order by id')).rows;

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
    [unsent]: 'not_running',
    [ahead]: 'workflow_behind',
    [behind]: 'row_behind',
    [different]: 'different',
  });
  expect(await rows()).toEqual(before);
  const { stdout } = await reconcile();
  expect(stdout).toContain(
    `${ahead} workflow_behind: the row has changes that the workflow does not have (row: version 2, PENDING; workflow: version 1, CREATED)\n`,
  );
  expect(stdout).not.toContain(fine);
  expect(stdout).toMatch(/\n6 compared, 5 differ\n$/);
});

test('--repair sends again what a backup has set back to pending, and its workflow has delivered', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => noWebhookPending(stack, [id]), 'the webhook is delivered');
  expect(await differences()).toEqual({});
  await stack.db.query(`update webhook_event set state = 'pending', attempts = 0, steps = 0 where order_id = $1`, [id]);
  await stack.db.query(
    'delete from webhook_attempt where event_id in (select id from webhook_event where order_id = $1)',
    [id],
  );
  expect(await differences('--repair')).toEqual({ [id]: 'not_delivering' });
  await until(() => noWebhookPending(stack, [id]), 'the webhook is delivered again');
  expect(receiver.deliveries).toHaveLength(2);
  expect(await differences()).toEqual({});
});

test('--repair resumes what does not run, and replaces a workflow that is behind its row', async () => {
  const [open, ahead] = [await terminated(), await workflowBehind()];
  const { code, stdout } = await reconcile('--repair');
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`^${open} not_running: .*; a new run continues from the row$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${ahead} workflow_behind: .*; a new run continues from the row$`, 'm'));
  await until(() => isRunning(stack.client, open), 'the workflow runs again');
  const read = async () => (await queryOrder(stack.client, ahead).catch(() => null))?.version === 2;
  await until(read, 'the new run has read the row');
  expect(await differences()).toEqual({});
});

test('--repair ends the run of a settled order that lacks changes, and says so', async () => {
  const id = await workflowBehind();
  await stack.db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [id]);
  await stack.db.query(
    `update order_timeline set event = 'failed', to_status = 'UNSUCCESSFUL' where order_id = $1 and version = 2`,
    [id],
  );
  const { stdout } = await reconcile('--repair');
  const said = 'the run is terminated: nothing is left to do';
  expect(stdout).toMatch(new RegExp(`^${id} workflow_behind: .*; ${said}$`, 'm'));
  expect(await statusOf(stack.client, id)).toBe('TERMINATED');
  expect(await differences()).toEqual({});
});

test('--repair brings a restored row forward, sends its webhooks again, and the order can be changed', async () => {
  const id = await rowBehind({ webhook_url: receiver.url });
  const ids = receiver.deliveries.map(({ headers }) => headers['webhook-id']);
  expect((await stack.api.progress(id, 'completed')).status).toBe(503);
  expect((await stack.api.progress(id, 'completed')).status).toBe(503);
  const { stdout } = await reconcile('--repair');
  expect(stdout).toMatch(new RegExp(`^${id} row_behind: .*; the row has the changes of the workflow now$`, 'm'));
  expect(await versionOf(id)).toBe(3);
  expect((await stack.api.progress(id, 'completed')).body.data.status).toBe('SUCCESSFUL');
  await until(() => noWebhookPending(stack, [id]), 'the webhooks are delivered');
  // The webhook that the backup lacks has the same id again.
  expect(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).toEqual([...ids, ids[1], expect.any(String)]);
});

test('--repair brings the row of a closed order forward from its completed run', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'failed']);
  await workflow(id).result();
  await setBack(stack.db, id, 2, 'PENDING');
  expect(await differences('--repair')).toEqual({ [id]: 'row_behind' });
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'failed']);
  expect(await differences()).toEqual({});
});

test('--repair frees an order that still waits for reconcile although its workflow is as its row, as after a reset', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await markRowBehind(stack.db, id, 3);
  expect((await stack.api.progress(id, 'approved')).status).toBe(503);
  expect(await differences('--repair')).toEqual({ [id]: 'workflow_behind' });
  expect((await stack.api.progress(id, 'approved')).body.data.status).toBe('APPROVED');
  expect(await differences()).toEqual({});
});

test('a workflow that still runs although its row is closed is ended', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 3, 'failed', 'PENDING', 'UNSUCCESSFUL', 'checkout', 'api', now())`,
    [id],
  );
  await stack.db.query(`update orders set version = 3, status = 'UNSUCCESSFUL' where id = $1`, [id]);
  const isListed = async () => (await differences())[id] === 'workflow_behind';
  await until(isListed, 'visibility lists the run');
  await reconcile('--repair');
  await until(async () => (await statusOf(stack.client, id)) === 'TERMINATED', 'the run has ended');
});

test('different changes are left to a person, who can keep the row', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query(
    `update order_timeline set event = 'failed', to_status = 'UNSUCCESSFUL' where order_id = $1 and version = 2`,
    [id],
  );
  await stack.db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [id]);
  const isListed = async () => (await differences())[id] === 'different';
  await until(isListed, 'visibility lists the run');
  expect((await reconcile('--repair')).stdout).toMatch(/decide which is right: --keep-row/);
  expect((await reconcile('--repair', '--keep-row')).stdout).toMatch(/the run is terminated: nothing is left to do/);
  await until(async () => (await statusOf(stack.client, id)) === 'TERMINATED', 'the run has ended');
});

test('a workflow whose order has no row is reported', async () => {
  const stored = (await findOrder(stack.db, await openOrder(stack)))!;
  const id = randomUUID();
  const settings = { startTimeoutMs: 60_000, updateTimeoutMs: 60_000, encryptPayloads: false };
  await createOrderWorkflows(stack.client, settings).start({ ...stored, id }, 0);
  const isListed = async () => (await differences())[id] === 'row_missing';
  await until(isListed, 'visibility lists the run');
  expect((await reconcile('--repair')).stdout).toMatch(new RegExp(`^${id} row_missing: .*; nothing was done$`, 'm'));
});

test("without --seller, every seller's orders are compared", async () => {
  const mine = await terminated();
  const others = await openOrder(await withNewSeller(stack));
  await workflow(others).terminate('a test');
  expect(await differences()).toEqual({ [mine]: 'not_running' });
  const all = (await runCli(['reconcile', '--json'], stack.env)).json().differences as { order_id: string }[];
  expect(all.map(({ order_id }) => order_id)).toEqual(expect.arrayContaining([mine, others]));
  expectError(await runCli(['reconcile', '--seller', randomUUID()], stack.env), 1, /does not exist/);
});

// The last one: a worker that starts looks for orders without a run, and resumes them.
test('without a worker, a workflow is not compared', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.stopWorker();
  expect(await differences('--repair')).toEqual({ [id]: 'not_compared' });
  await stack.startWorker();
});
