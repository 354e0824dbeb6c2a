import type { OrderChange } from '../domain/order';
import type { Channel } from '../domain/status';
import { lockOrder } from './find-orders';
import { type Db, inTransaction } from './pool';

/*
 * Timeline entries that are no changes: they have an id instead of a version, and recording one again changes nothing.
 */

/** The event of an entry about a replaced run. No request can have it. */
export const RECOVERY_EVENT = 'recovered';

/** The event of an entry about deliveries that wait for a silent endpoint. No request can have it. */
export const WEBHOOK_WAIT_EVENT = 'webhook_waits';

/** A refused request that came by signal. A signal has no response, so the refusal is recorded in the timeline. */
export interface Refusal extends Pick<OrderChange, 'from' | 'actor' | 'channel' | 'reason' | 'at'> {
  /** A UUID. */
  id: string;
  orderId: string;
  /** As requested: it may be an event that does not exist. */
  event: string;
}

/** @returns false if it was recorded before */
export async function insertRefusal(db: Db, { from, ...refusal }: Refusal): Promise<boolean> {
  return insertNote(db, { ...refusal, status: from });
}

/**
 * Records that a run of the order's workflow was replaced.
 * @param id of the new run, so that a repeated call adds nothing
 * @returns false if it was recorded before
 */
export async function insertRecovery(
  db: Db,
  recovery: { id: string; orderId: string; channel: Channel; reason: string },
): Promise<boolean> {
  return insertNote(db, { ...recovery, event: RECOVERY_EVENT, actor: 'system' });
}

/** Records that the order's deliveries wait. */
export async function insertWait(db: Db, orderId: string, noteId: string, reason: string): Promise<void> {
  await insertNote(db, {
    id: noteId,
    orderId,
    event: WEBHOOK_WAIT_EVENT,
    actor: 'system',
    channel: 'workflow',
    reason,
  });
}

interface Note extends Pick<OrderChange, 'actor' | 'channel' | 'reason'> {
  id: string;
  orderId: string;
  event: string;
  /** Default: the order's current status. */
  status?: string | null;
  /** ISO 8601. Default: now. */
  at?: string;
}

/**
 * The position is taken under the lock on the row, as for every entry. Without a row there is no timeline.
 * @returns false if it was recorded before
 */
async function insertNote(db: Db, { id, orderId, event, status, actor, channel, reason, at }: Note): Promise<boolean> {
  return inTransaction(db, async (client) => {
    await lockOrder(client, orderId);
    const { rowCount } = await client.query(
      `insert into order_timeline (note_id, order_id, event, from_status, to_status, actor, channel, reason, at)
       select $1, id, $3, coalesce($4, status), coalesce($4, status), $5, $6, $7, coalesce($8, now())
       from orders where id = $2 on conflict (note_id) do nothing`,
      [id, orderId, event, status, actor, channel, reason, at],
    );
    return rowCount === 1;
  });
}
