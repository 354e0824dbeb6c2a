import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { findOrder } from '../../src/db/orders';
import { type DbClient, inTransaction } from '../../src/db/pool';
import type { OrderState } from '../../src/domain/order';
import { getOrderQuery } from '../../workflows/messages';
import { type Api, BASE, order } from './api';
import type { Stack } from './stack';
import { until } from './until';

/** Creates an order. Repeats a call that gets 503 from a busy machine. */
export async function createOrder(
  api: Api,
  data: Record<string, unknown> = {},
): Promise<{ id: string; order_url: string }> {
  const fixed = { ...order(), ...data };
  const headers = { 'Idempotency-Key': randomUUID() };
  const { body, status, text } = await until(async () => {
    const response = await api.create(fixed, { headers });
    return response.status === 503 ? undefined : response;
  }, 'the order is created');
  if (status !== 201) throw new Error(text);
  return body.data;
}

/**
 * Creates an order, waits until its workflow is started and the row states it, and reports `events`. Without the second
 * wait the row would change during the test. Returns the order's id.
 */
export async function openOrder(
  { api, db }: Pick<Stack, 'api' | 'db'>,
  data: Record<string, unknown> = {},
  events: readonly string[] = [],
): Promise<string> {
  const { id } = await createOrder(api, data);
  await until(async () => (await findOrder(db, id))?.started, 'the row states that the workflow is started');
  const isReported = async (event: string): Promise<boolean> => {
    const response = await api.progress(id, event);
    // A busy machine: the call can be repeated, and changes nothing if the first one did.
    if (response.status === 503) return false;
    if (response.status !== 200) throw new Error(response.text);
    return true;
  };
  for (const event of events) await until(() => isReported(event), `${event} is reported`, 180_000);
  return id;
}

export async function isRunning(client: Stack['client'], id: string): Promise<boolean> {
  return (await statusOf(client, id)) === 'RUNNING';
}

/** Returns the status of the latest run of an order's workflow, or undefined if it has none. */
export async function statusOf(client: Stack['client'], id: string): Promise<string | undefined> {
  return client.workflow
    .getHandle(`order-${id}`)
    .describe()
    .then(
      ({ status }) => status.name,
      () => undefined,
    );
}

/** Returns the order as a query to its open run shows it. */
export async function queryOrder(client: Stack['client'], id: string): Promise<OrderState | null> {
  return (await openRun(client, id)).query(getOrderQuery);
}

/** @throws if the newest run of the order has closed: it would answer queries too */
async function openRun(client: Stack['client'], id: string): Promise<WorkflowHandle> {
  const { runId, status } = await client.workflow.getHandle(`order-${id}`).describe();
  if (status.name !== 'RUNNING') throw new Error(`the run is ${status.name}`);
  return client.workflow.getHandle(`order-${id}`, runId);
}

/** Requests a resend of an order's first webhook. */
export async function resendFirst({ api, db }: Pick<Stack, 'api' | 'db'>, id: string): Promise<void> {
  const { rows } = await db.query<{ id: string }>('select id from webhook_event where order_id = $1 and sequence = 1', [
    id,
  ]);
  await api.call('POST', `${BASE}/webhook_event/${rows[0]!.id}/resend/`);
}

interface Line {
  version: number | null;
  event: string;
  from_status: string | null;
  to_status: string;
  actor: string;
  channel: string;
  reason: string | null;
}

export async function timelineOf({ db }: Pick<Stack, 'db'>, id: string): Promise<Line[]> {
  const { rows } = await db.query<Line>(
    'select version, event, from_status, to_status, actor, channel, reason from order_timeline where order_id = $1 order by position',
    [id],
  );
  return rows;
}

/** Returns true if none of the orders has a webhook event in state `pending`. */
export async function noWebhookPending({ db }: Pick<Stack, 'db'>, orderIds: readonly string[]): Promise<boolean> {
  const query = `select from webhook_event where state = 'pending' and order_id = any($1)`;
  return (await db.query(query, [orderIds])).rowCount === 0;
}

/** Lists the run ids of an order's workflow. Visibility lags behind by up to a second. */
export async function runsOf({ client }: Pick<Stack, 'client'>, id: string): Promise<string[]> {
  const runs: string[] = [];
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = "order-${id}"` })) runs.push(runId);
  return runs;
}

/** Sets an order in Postgres back to an earlier version. */
export async function setBack(client: DbClient, id: string, version: number, status: string): Promise<void> {
  // The product locks the order's row first too. Any other order could cause a deadlock.
  await client.query('select from orders where id = $1 for update', [id]);
  // Version 1 has no webhook, and each later one has one.
  const events = 'select id from webhook_event where order_id = $1 and sequence >= $2';
  await client.query(`delete from webhook_attempt where event_id in (${events})`, [id, version]);
  await client.query('delete from webhook_event where order_id = $1 and sequence >= $2', [id, version]);
  await client.query('delete from order_timeline where order_id = $1 and version > $2', [id, version]);
  await client.query('update orders set version = $2, status = $3, completed_at = null where id = $1', [
    id,
    version,
    status,
  ]);
}

/** Approves a PENDING order in Postgres only, as if Temporal had been restored from a backup. */
export async function approveInRow(db: DbClient, id: string, age: string): Promise<void> {
  await db.query("update orders set version = 3, status = 'APPROVED' where id = $1", [id]);
  await db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 3, 'approved', 'PENDING', 'APPROVED', 'checkout', 'api', now() - $2::interval)`,
    [id, age],
  );
}

/** Restores Postgres as it was after version 3. */
export async function restoreApproved({ db }: Pick<Stack, 'db'>, id: string): Promise<void> {
  await inTransaction(db, (client) => setBack(client, id, 3, 'APPROVED'));
}

/** Waits until an open order may expire. */
export const untilDue = (db: DbClient, id: string): Promise<unknown> =>
  until(async () => {
    const { rowCount } = await db.query('select from orders where id = $1 and expires_at < now()', [id]);
    return rowCount === 1;
  }, 'the expiry is due');

/** Makes Postgres refuse to save a version of an order: its workflow tries again. */
export async function refuseVersion(db: DbClient, id: string, version: number): Promise<void> {
  await db.query(`alter table orders add constraint refused check (id <> '${id}' or version < ${version})`);
}

export async function acceptVersions(db: DbClient): Promise<void> {
  await db.query('alter table orders drop constraint refused');
}
