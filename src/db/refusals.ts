import type { OrderChange } from '../domain/order';
import { lockOrder } from './find-orders';
import { type Db, inTransaction } from './pool';

/** A refused request that came by signal. A signal has no response, so the refusal is recorded in the timeline. */
export interface Refusal extends Pick<OrderChange, 'from' | 'actor' | 'channel' | 'reason' | 'at'> {
  /** A UUID. */
  id: string;
  orderId: string;
  /** As requested: it may be an event that does not exist. */
  event: string;
}

/**
 * The position is taken under the lock on the row, as for every entry.
 * @returns false if it was recorded before
 */
export async function insertRefusal(db: Db, refusal: Refusal): Promise<boolean> {
  const { id, orderId, event, from, actor, channel, reason, at } = refusal;
  return inTransaction(db, async (client) => {
    await lockOrder(client, orderId);
    const { rowCount } = await client.query(
      `insert into order_timeline (refusal_id, order_id, event, from_status, to_status, actor, channel, reason, at)
       select $1, id, $3, $4, $4, $5, $6, $7, $8 from orders where id = $2
       on conflict (refusal_id) where refusal_id is not null do nothing`,
      [id, orderId, event, from, actor, channel, reason, at],
    );
    return rowCount === 1;
  });
}
