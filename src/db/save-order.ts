import type { StatusWebhook } from '../contracts/status-webhooks';
import { type OrderChange, type WorkflowOrderHistory, firstDifference, stateAfter } from '../domain/order';
import { type StoredOrderRow, CHANGES, lockOrder, toChanges } from './find-orders';
import { isAgreed } from './applications';
import { mayBePaid } from './payments';
import { type Db, type DbClient, inTransaction } from './pool';
import { type PendingWebhook, findPendingWebhooks } from './webhook-events';

/** The row holds a change that the history to save does not build on. */
export class RowConflict extends Error {}

/** The customer has agreed to the offer, or has paid, so the order cannot expire. */
export class CustomerAgreed extends Error {}

/**
 * The customer has approved a payment, or may have, and the bank has not confirmed it, so the order cannot expire yet.
 */
export class PaymentProcessing extends Error {}

/** Milliseconds until the sweep checks an order. */
interface CheckAfter {
  /** While nothing shows that Temporal's history has the last save. */
  unprovenMs: number;
  /** Once something shows it. */
  checkAfterMs: number;
}

interface SavedHistory {
  /** As the row holds them. */
  changes: readonly OrderChange[];
  /** Webhooks that the order's workflow may not have queued yet. */
  pending: PendingWebhook[];
}

/**
 * Saves `history`: row, timeline and webhook events, all or nothing. Saving the same history again changes nothing. If
 * the row holds its last change already, made at another time, the save adopts the row's copy: an earlier save of that
 * change was committed, and its result was lost. A row that is older (a restored backup) gets every change that it
 * lacks.
 * @param webhooks for all status changes of the history; none if the order has no webhook URL
 * @param isRestored true if the history was saved before, and the row may be that of a restored backup. Its expiry then
 * stands although the backup shows a payment in progress, which is reversed
 * @throws RowConflict if the row is newer, holds a different change, or is missing
 * @throws CustomerAgreed if the last change is an expiry that is not saved yet, and the customer has agreed to the
 * offer or paid; PaymentProcessing if the bank may still confirm a payment
 */
export async function saveOrder(
  db: Db,
  history: WorkflowOrderHistory,
  webhooks: readonly StatusWebhook[],
  checkAfter: CheckAfter,
  isRestored = false,
): Promise<SavedHistory> {
  const { order, changes } = history;
  const last = changes.at(-1);
  if (last && !isExpiry(last)) {
    const { saved, pending } = await saveChange(db, history, last, webhooks, checkAfter);
    if (saved) return { changes, pending };
  }
  return inTransaction(db, async (client) => {
    const saved = await lockChanges(client, order.id);
    if (!isSameLastChange(saved, changes)) {
      assertBuildsOn(saved, changes);
      const missing = changes.slice(saved.length);
      if (last && missing.includes(last) && isExpiry(last)) await assertMayExpire(client, order.id, isRestored);
      for (const change of missing) {
        const { saved: isSaved } = await saveChange(client, history, change, webhooks, checkAfter);
        if (!isSaved) throw new RowConflict(`version ${change.version} does not build on the row`);
      }
    }
    const isAdopted = saved.length === changes.length;
    return { changes: isAdopted ? saved : changes, pending: await findPendingWebhooks(client, order.id) };
  });
}

function isExpiry({ event }: OrderChange): boolean {
  return event === 'expired';
}

async function assertMayExpire(client: DbClient, orderId: string, isRestored: boolean): Promise<void> {
  if (await isAgreed(client, orderId)) throw new CustomerAgreed(`the customer of order ${orderId} has agreed`);
  if (!isRestored && (await mayBePaid(client, orderId)))
    throw new PaymentProcessing(`a payment of order ${orderId} is in progress`);
}

/** @returns `saved: false` if the row's last change is not the one that `change` builds on: nothing changed */
async function saveChange(
  db: DbClient,
  history: WorkflowOrderHistory,
  change: OrderChange,
  webhooks: readonly StatusWebhook[],
  { unprovenMs, checkAfterMs }: CheckAfter,
): Promise<{ saved: boolean; pending: PendingWebhook[] }> {
  const base = history.changes[change.version - 2];
  if (!base) return { saved: false, pending: [] };
  const webhook = webhooks.find(({ version }) => version === change.version);
  const { rows } = await db.query<{ saved: boolean; webhookId: string | null }>({
    name: 'save_change',
    text: `select saved, webhook_id as "webhookId"
      from save_change($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
    values: [
      history.order.id,
      base.event,
      base.at,
      ...timelineValues(change),
      stateAfter(history, change).cancelledAt,
      webhook?.sequence,
      webhook?.body,
      unprovenMs,
      checkAfterMs,
      webhook?.request?.requestId,
      webhook?.request?.traceparent,
    ],
  });
  const { saved = false, webhookId } = rows[0] ?? {};
  if (!webhook || webhookId == null) return { saved, pending: [] };
  return { saved, pending: [{ id: webhookId, sequence: webhook.sequence, attempts: 0, waitMs: null, waitedMs: 0 }] };
}

/** Locks the order's row and returns the changes that are saved. */
async function lockChanges(client: DbClient, orderId: string): Promise<OrderChange[]> {
  // A separate statement: one that waits for the lock would read the timeline as it was before the wait.
  await lockOrder(client, orderId);
  const { rows } = await client.query<Pick<StoredOrderRow, 'changes'>>(
    `select ${CHANGES} as changes from orders o where id = $1`,
    [orderId],
  );
  if (!rows[0]) throw new RowConflict(`order ${orderId} has no row`);
  return toChanges(rows[0].changes);
}

/** True if both histories are the same, except for the time, actor, channel and reason of the last change. */
function isSameLastChange(saved: readonly OrderChange[], changes: readonly OrderChange[]): boolean {
  return (
    saved.length === changes.length &&
    saved.at(-1)?.event === changes.at(-1)?.event &&
    firstDifference(saved.slice(0, -1), changes) === undefined
  );
}

function assertBuildsOn(saved: readonly OrderChange[], changes: readonly OrderChange[]): void {
  if (saved.length > changes.length) {
    throw new RowConflict(`the row is at version ${saved.length}, the workflow at ${changes.length}`);
  }
  const different = firstDifference(saved, changes);
  if (different !== undefined)
    throw new RowConflict(`version ${different} of the row and of the workflow are different changes`);
}

export async function insertChange(client: DbClient, orderId: string, change: OrderChange): Promise<void> {
  await client.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, reason, at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [orderId, ...timelineValues(change)],
  );
}

/** What `order_timeline` stores of a change, from `version` to `at`. */
const timelineValues = ({ version, event, from, to, actor, channel, reason, at }: OrderChange) => [
  version,
  event,
  from,
  to,
  actor,
  channel,
  reason,
  at,
];
