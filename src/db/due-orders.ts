import { type StoredOrder, type StoredOrderRow, STORED_ORDER_COLUMNS, toStoredOrder } from './find-orders';
import { inMs } from './clock';
import {
  AGREEMENT_PENDING,
  DECISION_PENDING,
  RESEND_PENDING,
  SAVED_RECENTLY,
  SETTLED,
  STUCK_RECENTLY,
  WEBHOOK_OVERDUE,
} from './order-work';
import type { DbClient } from './pool';

/** An order that the sweep has to check. */
export interface DueOrder extends StoredOrder {
  settled: boolean;
  /** True if its workflow has webhooks to resend. */
  resendPending: boolean;
  /** True if its workflow has to ask the lender for its decision, or the bank for the result of a payment. */
  decisionPending: boolean;
  /** True if its customer has agreed to the offer or paid, but the order is not completed yet. */
  agreementPending: boolean;
  /** True if its next webhook should have been attempted a while ago. */
  webhookOverdue: boolean;
  /** True if its run was found stuck within the last hour. */
  stuckRecently: boolean;
  /** The number of its last request: see `order_work.requests`. */
  requests: number;
  /** True if Temporal's history may not have the last save yet. */
  savedRecently: boolean;
}

/**
 * SQL, the relation `seller`: the sellers of orders whose workflow is not started. One index lookup for each, however
 * many orders wait.
 */
const NEW_ORDERS_SELLERS = `recursive seller as (
    (select seller_id from order_work where not started order by seller_id limit 1)
    union all
    select (select w.seller_id from order_work w where not w.started and w.seller_id > s.seller_id
      order by w.seller_id limit 1)
    from seller s where s.seller_id is not null
  )`;

/** SQL that selects due orders `order_work w`, by the kind of work. `$1` is the limit. Workers share the orders. */
const DUE = {
  /** Somebody waits: a resend, an application, a started payment or an agreement is not passed on yet. */
  requests: `select w.order_id from order_work w where w.requests > w.requests_passed_on and w.sweep_at <= now()
    order by w.sweep_at limit $1 for update skip locked`,
  /** New orders whose workflow was not started: each seller's oldest, then each seller's second, and so on. */
  starts: `select w.order_id from order_work w where w.order_id in (
      with ${NEW_ORDERS_SELLERS}
      select turn.order_id from seller s cross join lateral (
        select w.order_id, w.sweep_at, row_number() over (order by w.sweep_at) as nth from order_work w
        where not w.started and w.seller_id = s.seller_id and w.sweep_at <= now() order by w.sweep_at limit $1
      ) turn order by turn.nth, turn.sweep_at limit $1)
    and not w.started and w.sweep_at <= now() for update skip locked`,
  /** Started orders, to check that their workflows run. */
  checks: `select w.order_id from order_work w
    where w.started and w.requests <= w.requests_passed_on and w.sweep_at <= now()
    order by w.sweep_at limit $1 for update skip locked`,
};

export type DueKind = keyof typeof DUE;

/**
 * Leases orders that are due to one sweep for `leaseMs`. If that sweep dies, they are due again afterwards.
 * @param limit the maximum number of orders
 */
export async function leaseDueOrders(db: DbClient, kind: DueKind, limit: number, leaseMs: number): Promise<DueOrder[]> {
  const { rows } = await db.query<StoredOrderRow & Omit<DueOrder, keyof StoredOrder>>({
    name: `lease_${kind}`,
    // `requests` is read as it was before the lease, like what is pending: a request that came since is not passed on.
    text: `with due as (
       ${DUE[kind]}
     ), leased as (
       update order_work w set sweep_at = ${inMs('$2')} where order_id in (select order_id from due)
       returning order_id
     )
     select ${STORED_ORDER_COLUMNS}, ${SETTLED} as settled, ${RESEND_PENDING} as "resendPending",
       ${DECISION_PENDING} as "decisionPending", ${AGREEMENT_PENDING} as "agreementPending",
       ${WEBHOOK_OVERDUE} as "webhookOverdue", ${STUCK_RECENTLY} as "stuckRecently",
       ${SAVED_RECENTLY} as "savedRecently", w.requests::float8 as requests
     from orders o join leased on leased.order_id = o.id join order_work w on w.order_id = o.id`,
    values: [limit, leaseMs],
  });
  return rows.map((row) => ({
    ...toStoredOrder(row),
    settled: row.settled,
    resendPending: row.resendPending,
    decisionPending: row.decisionPending,
    agreementPending: row.agreementPending,
    webhookOverdue: row.webhookOverdue,
    stuckRecently: row.stuckRecently,
    requests: row.requests,
    savedRecently: row.savedRecently,
  }));
}

/** Finds the sellers with an order that has waited for the start of its workflow for longer than `ageMs`. */
export async function sellersWithBacklog(db: DbClient, ageMs: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `with ${NEW_ORDERS_SELLERS}
     select s.seller_id as id from seller s where s.seller_id is not null
       and (select min(waiting_since) from order_work w where not w.started and w.seller_id = s.seller_id)
         < now() - $1 * interval '1 ms'`,
    [ageMs],
  );
  return rows.map(({ id }) => id);
}
