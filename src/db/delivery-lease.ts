import { inMs } from './clock';
import { setSaveProven } from './order-work';
import type { DbClient } from './pool';

/**
 * SQL, true for the attempt `$2` at an event `e` that the last save of `order_work w` has added: the workflow has that
 * save.
 */
const PROVES_SAVE = '($2::integer is not null and e.sequence is not distinct from w.saved_sequence)';

/** The right to make one attempt for an order. */
export interface DeliveryLease {
  /** When it expires, in Postgres' notation. No other lease of the order has the same value, so it fences this one. */
  token: string;
  /** When it was taken, by the clock of Postgres. */
  at: Date;
  /**
   * The request that a resend answers, in Postgres' notation, because a Date lacks its microseconds; null for a step.
   */
  resendRequestedAt: string | null;
}

/**
 * Leases the delivery of an order's webhooks for one attempt, so that attempts never overlap, even if a timed-out
 * activity or the activity of a terminated workflow still executes.
 * @param step the position in the retry schedule, from 1; null for a resend
 * @param leaseMs longer than an attempt can take; a lease that is not ended expires
 * @returns undefined if another attempt may be running, or this one has been made in the meantime
 */
export async function leaseDelivery(
  db: DbClient,
  eventId: string,
  step: number | null,
  leaseMs: number,
): Promise<DeliveryLease | undefined> {
  const { rows } = await db.query<DeliveryLease>({
    name: 'lease_delivery',
    text: `update order_work w set delivery_lease_until = ${inMs('$3')},
       ${setSaveProven(PROVES_SAVE)}
     from webhook_event e
     where e.id = $1 and w.order_id = e.order_id
       and case when $2::integer is null then e.resend_requested_at is not null
         else e.state = 'pending' and e.attempts < $2 end
       and (w.delivery_lease_until is null or w.delivery_lease_until <= now())
     returning w.delivery_lease_until::text as token, now() as at,
       case when $2::integer is null then e.resend_requested_at::text end as "resendRequestedAt"`,
    values: [eventId, step, leaseMs],
  });
  return rows[0];
}

/** @returns false if the lease has expired and another attempt has taken it over: that one keeps its lease */
export async function endDeliveryLease(db: DbClient, eventId: string, { token }: DeliveryLease): Promise<boolean> {
  const { rowCount } = await db.query(
    `update order_work set delivery_lease_until = null
     where order_id = (select order_id from webhook_event where id = $1) and delivery_lease_until = $2::timestamptz`,
    [eventId, token],
  );
  return rowCount === 1;
}
