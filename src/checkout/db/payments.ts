import type { OrderStatus } from '../../domain/order';
import { type Payment, type PaymentStatus, isCurrent } from '../domain/payment';
import { type Db, type DbClient, inTransaction } from '../../db/pool';

/** SQL, `isCurrent` for the `status` of a payment: it is in progress or paid. An order has at most one of them. */
export const CURRENT_PAYMENT = `status in ('pending', 'processing', 'paid')`;

const COLUMNS = `p.id, p.order_id as "orderId", p.bank, p.status,
  p.approved_at as "approvedAt",
  round(extract(epoch from now() - p.started_at) * 1000)::float as "ageMs", p.closed_at is null as "isOpen",
  (select sandbox from checkout_order where id = p.order_id) as sandbox`;

/** Finds the payment of an order that is in progress or paid, otherwise one to refund, otherwise the last one. */
export async function findLastPayment(db: DbClient, orderId: string): Promise<Payment | undefined> {
  const { rows } = await db.query<Payment>(
    `select ${COLUMNS} from payment p where order_id = $1
     order by (${CURRENT_PAYMENT}) desc, closed_at is null desc, started_at desc limit 1`,
    [orderId],
  );
  return rows[0];
}

/**
 * SQL, true if the payment `p` has completed its order, although its own row may not show it: a restored backup. The
 * hosted checkout completes an order after a payment or an agreement, and a payment in progress excludes an agreement.
 * Everybody else who reports `completed` was paid in another way. The clocks of the worker and of Postgres differ by
 * less than the minute.
 */
const HAS_COMPLETED = `exists (select from checkout_order c where c.id = p.order_id
  and c.completed_here_at >= p.started_at - interval '1 minute')`;

/**
 * SQL, true for a payment `p` that has to be cancelled or refunded: its order `o` is closed, and the payment has not
 * completed it; or the bank has reported it as paid after it was over.
 */
const MUST_BE_REVERSED = `p.closed_at is null and (p.status in ('refused', 'cancelled')
  or o.status in ('SUCCESSFUL', 'UNSUCCESSFUL') and not (p.status = 'paid' and ${HAS_COMPLETED}))`;

/**
 * Starts a payment of a PENDING order, unless one is in progress or paid, or the customer waits for the lender.
 * @param browserDigest of the browser that the payment will belong to
 * @param ownDigests of the requesting browser: an application that was submitted must belong to it
 * @returns false if nothing was started
 */
export async function insertPayment(
  db: Db,
  orderId: string,
  bank: string,
  { browserDigest, ownDigests }: { browserDigest: Buffer; ownDigests: readonly Buffer[] },
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
         select id, $2 from checkout_order o where id = $1 and status = 'PENDING'
           and exists (select from application where order_id = $1
             and (submitted_at is null or decision in ('declined', 'failed')))
         on conflict (order_id) where ${CURRENT_PAYMENT} do nothing
         returning order_id
       )
       update application set payment_term = 'PAY_NOW', browser_digest = $3
       where order_id in (select order_id from started)`,
      [orderId, bank, browserDigest],
    );
    return rowCount === 1;
  });
}

/**
 * Records what the payment provider reports. A payment that the customer has approved does not become pending again: that
 * answer is an older one. One that becomes paid after its order was completed in another way stays in progress until it
 * is refunded. One that is over keeps its status; if it was refused or cancelled and is reported as paid, it is open
 * until it is refunded.
 */
export async function recordPaymentStatus(db: DbClient, paymentId: string, status: PaymentStatus): Promise<void> {
  const isOver = !isCurrent(status);
  await db.query(
    `update payment p set status = case
         when status = 'processing' and $2 = 'pending' or status in ('refused', 'cancelled') and $2 = 'paid' then status
         else $2 end,
       closed_at = case when $3 then now() end,
       approved_at = coalesce(approved_at, case when $2 in ('processing', 'paid') then now() end)
     where id = $1 and case when status in ('pending', 'processing')
       then not ($2 = 'paid' and not ${HAS_COMPLETED}
         and exists (select from checkout_order o where o.id = p.order_id and o.status = 'SUCCESSFUL'))
       else status <> 'refunded' and $2 in ('paid', 'refunded') end`,
    [paymentId, status, isOver],
  );
}

/** True if the order was completed by this payment, so that its money belongs to the seller. */
export async function hasCompletedOrder(db: DbClient, paymentId: string): Promise<boolean> {
  const { rowCount } = await db.query(`select from payment p where p.id = $1 and ${HAS_COMPLETED}`, [paymentId]);
  return rowCount === 1;
}

/** Closes the paid payment that has completed a SUCCESSFUL order: its money belongs to the seller. */
export async function closePaidPayment(db: DbClient, orderId: string): Promise<void> {
  await db.query(
    `update payment p set closed_at = now() from checkout_order o
     where o.id = $1 and o.status = 'SUCCESSFUL' and p.order_id = o.id and p.status = 'paid' and p.closed_at is null
       and ${HAS_COMPLETED}`,
    [orderId],
  );
}

export async function findPaymentStatus(db: DbClient, paymentId: string): Promise<PaymentStatus | undefined> {
  const { rows } = await db.query<{ status: PaymentStatus }>('select status from payment where id = $1', [paymentId]);
  return rows[0]?.status;
}

/** The payments of an order for which something is left to do. */
export async function findOpenPayments(db: DbClient, orderId: string): Promise<Payment[]> {
  const { rows } = await db.query<Payment>(
    `select ${COLUMNS} from payment p where order_id = $1 and closed_at is null order by started_at`,
    [orderId],
  );
  return rows;
}

/** A payment as lists show it. */
export interface ListedPayment {
  id: string;
  orderId: string;
  sellerId: string;
  reference: string;
  orderStatus: OrderStatus;
  amountPence: number;
  bank: string;
  status: PaymentStatus;
  startedAt: Date;
  /** When nothing was left to do; null before that. */
  closedAt: Date | null;
}

/**
 * Lists payments, newest first.
 * @param filter `toReverse`: only payments of live accounts that have to be cancelled or refunded
 */
export async function listPayments(
  db: DbClient,
  { orderIds, toReverse = false }: { orderIds?: readonly string[] | undefined; toReverse?: boolean | undefined },
  limit: number,
): Promise<ListedPayment[]> {
  const { rows } = await db.query<ListedPayment>(
    `select p.id, p.order_id as "orderId", o.seller_id as "sellerId", o.reference, o.status as "orderStatus",
       o.amount_pence as "amountPence", p.bank, p.status, p.started_at as "startedAt", p.closed_at as "closedAt"
     from payment p join checkout_order o on o.id = p.order_id
     where ($1::uuid[] is null or p.order_id = any($1)) and (not $2 or (not o.sandbox and ${MUST_BE_REVERSED}))
     order by p.started_at desc, p.id limit $3`,
    [orderIds, toReverse, limit],
  );
  return rows;
}

/** The payments of live accounts that wait. No money moves in sandbox accounts. */
export interface PaymentBacklog {
  /** Payments that have to be cancelled or refunded. */
  paymentsToReverse: number;
  /** Since the first of them had to be. 0 if there is none. */
  oldestPaymentToReverseSeconds: number;
}

/** Reads one small index, and the timelines of orders whose payment must be reversed. */
export async function readPaymentBacklog(db: DbClient): Promise<PaymentBacklog> {
  const { rows } = await db.query<PaymentBacklog>(
    `select count(*)::integer as "paymentsToReverse",
       coalesce(extract(epoch from now() - min(coalesce(o.closed_at, p.approved_at))), 0)::float8
         as "oldestPaymentToReverseSeconds"
     from payment p join checkout_order o on o.id = p.order_id where not o.sandbox and ${MUST_BE_REVERSED}`,
  );
  return rows[0] ?? { paymentsToReverse: 0, oldestPaymentToReverseSeconds: 0 };
}

/** SQL, a time: what is older should have been done, or a workflow does it. */
const TIME_TO_START = `now() - interval '10 seconds'`;

/**
 * Finds orders whose checkout has had something left to do for some seconds: an application without a decision, a
 * decision or an agreement that the order does not show, or a payment that is not over. After `failed`, and after
 * `declined` if the customer can pay now, the next step is the customer's.
 * @param canPayNow by the kind of account
 */
export async function findUnfinishedCheckouts(
  db: DbClient,
  limit: number,
  canPayNow: { sandbox: boolean; live: boolean },
): Promise<{ id: string; sellerId: string }[]> {
  const { rows } = await db.query<{ id: string; sellerId: string }>(
    `select id, seller_id as "sellerId" from checkout_order where id in (
       select p.order_id from payment p where p.closed_at is null and p.started_at < ${TIME_TO_START}
       union
       select a.order_id from application a join checkout_order o on o.id = a.order_id
       where a.closed_at is null and (
         o.status = 'APPROVED' and a.agreed_at < ${TIME_TO_START}
         or a.purged_at is null and (
           o.status in ('PENDING', 'APPROVED') and a.decision is null and a.submitted_at < ${TIME_TO_START}
           or o.status = 'PENDING' and a.decided_at < ${TIME_TO_START}
             and (a.decision = 'approved' or a.decision = 'declined'
               and not ('PAY_NOW' = any(o.allowed_payment_terms) and case when o.sandbox then $2::boolean else $3 end)))))
     order by random() limit $1`,
    [limit, canPayNow.sandbox, canPayNow.live],
  );
  return rows;
}
