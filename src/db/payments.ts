import { type Payment, type PaymentStatus, isInProgress } from '../domain/payment';
import { inMs } from './clock';
import { CURRENT_PAYMENT } from './current-payment';
import { addWorkflowRequest } from './order-work';
import { type Db, type DbClient, inTransaction } from './pool';

const COLUMNS = `p.id, p.order_id as "orderId", p.bank, p.status,
  p.approved_at as "approvedAt",
  round(extract(epoch from now() - p.started_at) * 1000)::float as "ageMs",
  (select sandbox from orders where id = p.order_id) as sandbox`;

/** SQL, true for a payment `p` that must be cancelled or refunded, because its order `o` is closed. */
export const MUST_BE_REVERSED = `p.closed_at is null
  and (o.status = 'UNSUCCESSFUL' or (o.status = 'SUCCESSFUL' and p.status <> 'paid'))`;

/** Finds the payment of an order that is in progress or paid, otherwise the last one that was started. */
export async function findLastPayment(db: DbClient, orderId: string): Promise<Payment | undefined> {
  const { rows } = await db.query<Payment>(
    `select ${COLUMNS} from payment p where order_id = $1 order by (${CURRENT_PAYMENT}) desc, started_at desc limit 1`,
    [orderId],
  );
  return rows[0];
}

/**
 * A payment that is pending for longer than this, because the bank does not answer, no longer stops the expiry. If it
 * turns out to be paid, it is reversed.
 */
const MAX_PENDING = '1 day';

/**
 * True if the customer has approved a payment of the order, or may have: a pending one may have been approved since the
 * bank was last asked. One that nobody approves is cancelled at the bank after 15 minutes.
 */
export async function mayBePaid(db: DbClient, orderId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from payment where order_id = $1
       and (status = 'processing' or status = 'pending' and started_at > now() - interval '${MAX_PENDING}')`,
    [orderId],
  );
  return rowCount === 1;
}

/** SQL, true if the payment `payment` has completed its order. @see hasCompletedOrder */
const hasCompleted = (payment: string): string =>
  `exists (select from order_timeline t where t.order_id = ${payment}.order_id and t.version is not null
    and t.event = 'completed' and t.at >= ${payment}.started_at
    and t.channel in ('hosted_checkout', 'workflow', 'sweep'))`;

/**
 * Starts a payment of a PENDING order, unless one is in progress or paid, or the customer waits for the lender.
 * @param browserDigest of the browser that the payment will belong to
 * @param ownDigests of the requesting browser: an application that was submitted must belong to it
 * @param sweepAfterMs time for the caller to notify the workflow
 * @returns false if nothing was started
 */
export async function insertPayment(
  db: Db,
  orderId: string,
  bank: string,
  { browserDigest, ownDigests }: { browserDigest: Buffer; ownDigests: readonly Buffer[] },
  sweepAfterMs: number,
): Promise<boolean> {
  return inTransaction(db, async (client) => {
    // The lock on the application's row serializes payments and applications of an order.
    const { rowCount: possible } = await client.query(
      `select from application where order_id = $1
         and (submitted_at is null or (decision in ('declined', 'failed') and browser_digest = any($2)))
       for update`,
      [orderId, ownDigests],
    );
    if (!possible) return false;
    // A separate statement: one that waits for the lock would not see what was committed meanwhile.
    const { rowCount } = await client.query(
      `with started as (
         insert into payment (order_id, bank)
         select id, $2 from orders o where id = $1 and status = 'PENDING'
           -- A payment that starts after the expiry was due would delay it.
           and (o.expires_at is null or o.expires_at > now())
           and exists (select from application where order_id = $1
             and (submitted_at is null or decision in ('declined', 'failed')))
           -- The insert would wait for a result that is being recorded, which waits for the lock above.
           and not exists (select from payment where order_id = $1 and ${CURRENT_PAYMENT})
         -- Locks the order before its work, as a webhook attempt does: otherwise, each could wait for the other.
         for key share of o
         on conflict (order_id) where ${CURRENT_PAYMENT} do nothing
         returning order_id
       ), owned as (
         update application set payment_term = 'PAY_NOW', browser_digest = $3
         where order_id in (select order_id from started) returning order_id
       )
       ${addWorkflowRequest('owned', '$4')}`,
      [orderId, bank, browserDigest, sweepAfterMs],
    );
    return rowCount === 1;
  });
}

/**
 * Records what the payment provider reports. A payment that is over stays as it is, and one that the customer has
 * approved does not become pending again: that answer is an older one. One that becomes paid after its order was
 * completed in another way stays in progress until it is refunded. A paid order is completed by the sweep if the caller
 * does not complete it within `sweepAfterMs`; recording it again renews that.
 */
export async function recordPaymentStatus(
  db: DbClient,
  paymentId: string,
  status: PaymentStatus,
  sweepAfterMs: number,
): Promise<void> {
  const isOver = !isInProgress(status) && status !== 'paid';
  await db.query(
    // The lock makes a save, such as that of an expiry, see the payment, or the payment see the save.
    `with recorded as (
       update payment p set status = case when status = 'processing' and $2 = 'pending' then status else $2 end,
         closed_at = case when $3 then now() end,
         approved_at = coalesce(approved_at, case when $2 in ('processing', 'paid') then now() end)
       where id = $1 and (status in ('pending', 'processing') or status = 'paid' and $2 in ('paid', 'refunded'))
         and not ($2 = 'paid' and status <> 'paid' and not ${hasCompleted('p')}
           and exists (select from orders o where o.id = p.order_id and o.status = 'SUCCESSFUL'))
       returning order_id
     ), open as (
       select id from orders where $2 = 'paid' and id in (select order_id from recorded)
         and status in ('PENDING', 'APPROVED') for share
     ), agreed as (
       update application set agreed_at = coalesce(agreed_at, now()), payment_term = 'PAY_NOW'
       where order_id in (select id from open) returning order_id
     )
     ${addWorkflowRequest('agreed', '$4')}`,
    [paymentId, status, isOver, sweepAfterMs],
  );
}

/**
 * True if a payment has completed its order, although its own row may not show it: a restored backup. The service
 * completes an order after a payment or an agreement, and a payment in progress excludes an agreement. Everybody else
 * who reports `completed` was paid in another way.
 */
export async function hasCompletedOrder(db: DbClient, paymentId: string): Promise<boolean> {
  const { rowCount } = await db.query(`select from payment p where p.id = $1 and ${hasCompleted('p')}`, [paymentId]);
  return rowCount === 1;
}

/** Closes paid payments of SUCCESSFUL orders: their money belongs to the seller. */
export async function closePaidPayments(db: DbClient): Promise<void> {
  await db.query(
    // Locks the payments by their ids: all workers do this, and two could wait for each other otherwise.
    `with complete as (
       select p.id from payment p join orders o on o.id = p.order_id
       where p.closed_at is null and p.status = 'paid' and o.status = 'SUCCESSFUL'
       order by p.id for no key update of p
     )
     update payment set closed_at = now() where id in (select id from complete)`,
  );
}

/**
 * Leases at most `limit` payments that must be reversed, because their orders are closed. A payment that is
 * not reversed is due again after `firstMs`, then after twice as long each time, up to `maxMs`, whichever worker leases
 * it. New ones come first, so that payments that fail again and again do not hold back the others.
 */
export async function leasePaymentsToReverse(
  db: DbClient,
  limit: number,
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
): Promise<Payment[]> {
  const { rows } = await db.query<Payment>(
    `with due as (
       select p.id from payment p join orders o on o.id = p.order_id
       where ${MUST_BE_REVERSED}
         and (p.next_reversal_at is null or p.next_reversal_at <= now())
       order by p.next_reversal_at nulls first limit $1 for update of p skip locked
     )
     update payment p set reversal_attempts = reversal_attempts + 1,
       next_reversal_at = ${inMs('least($2 * 2 ^ least(reversal_attempts, 20), $3)')}
     where p.id in (select id from due)
     returning ${COLUMNS}`,
    [limit, firstMs, maxMs],
  );
  return rows;
}
