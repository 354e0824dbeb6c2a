import { type StoredOrder, type StoredOrderRow, STORED_ORDER_COLUMNS, lockOrder, toStoredOrder } from './find-orders';
import { type Db, type DbClient, inTransaction } from './pool';

/*
 * All rules about what is left to do for an order: when the sweep checks it, when it is settled, and which process may
 * send its webhooks. A row of `order_work` exists as long as the order is not settled.
 */

/** SQL, true for an order `o` that is settled: final, with no pending webhook event and no requested resend. */
export const SETTLED = 'is_settled(o.id, o.status)';

/** SQL, true for the `status` of a payment that is in progress or paid: an order has one of them at most. */
export const CURRENT_PAYMENT = `status in ('pending', 'processing', 'paid')`;

/**
 * SQL, true for an order `o` whose status does not show the decision on its application or the result of its payment yet.
 * It may be recorded already. A restored backup may lack the decision on an application of an APPROVED order.
 */
const APPLICATION_PENDING = `((o.status = 'PENDING'
    and exists (select from application a where a.order_id = o.id and a.submitted_at is not null))
  or (o.status = 'APPROVED' and exists (select from application a
    where a.order_id = o.id and a.submitted_at is not null and a.decision is null and a.purged_at is null))
  or (o.status in ('PENDING', 'APPROVED')
    and exists (select from payment where order_id = o.id and ${CURRENT_PAYMENT})))`;

/** SQL, true for an order `o` whose customer has agreed to the offer and which is not completed yet. */
const AGREEMENT_PENDING = `(o.status = 'APPROVED' and exists (
  select from application a where a.order_id = o.id and a.agreed_at is not null))`;

/** SQL, true for an order `o` with a webhook that is to be resent. */
const RESEND_PENDING = `exists (
  select from webhook_event e where e.order_id = o.id and e.resend_requested_at is not null)`;

/**
 * SQL: when the next webhook of an order `o` is due; null if none is pending. An event becomes the next one when the one
 * before it has ended.
 */
const WEBHOOK_DUE_AT = `(
  select coalesce(e.next_attempt_at, greatest(e.created_at, (select max(a.at) from webhook_attempt a
    join webhook_event other on other.id = a.event_id where other.order_id = o.id)))
  from webhook_event e where e.order_id = o.id and e.state = 'pending' order by e.sequence limit 1)`;

/** SQL: a webhook that was due before this time is overdue. */
const OVERDUE_BEFORE = `now() - interval '10 minutes'`;

/** SQL, true for an order `o` whose next webhook should have been attempted a while ago. */
const WEBHOOK_OVERDUE = `coalesce(${WEBHOOK_DUE_AT} < ${OVERDUE_BEFORE}, false)`;

/** SQL, true for the work `w` of an order whose run was found stuck within the last hour. */
const STUCK_RECENTLY = `coalesce(w.stuck_at > now() - interval '1 hour', false)`;

/** SQL: a moment `ms` milliseconds from now. */
export const inMs = (ms: string): string => `now() + ${ms} * interval '1 ms'`;

/**
 * SQL that adds new orders to the sweep's work.
 * @param orders a relation with the columns `id` and `seller_id`
 * @param ms a parameter: milliseconds until the sweep may start the workflow
 */
export const addNewOrders = (orders: string, ms: string): string =>
  `insert into order_work (order_id, seller_id, waiting_since, sweep_at)
   select id, seller_id, now(), ${inMs(ms)} from ${orders}`;

/**
 * SQL that counts a request for the workflows of open orders. If it is not passed on within `ms`, the sweep does.
 * @param orders a relation with the column `order_id`
 */
export const sweepWithin = (orders: string, ms: string): string =>
  `update order_work set sweep_at = least(sweep_at, ${inMs(ms)}), requests = requests + 1
   where order_id in (select order_id from ${orders})`;

/**
 * Makes the sweep check the events' orders within `ms`, settled orders too, each `gapMs` after the one before. The caller
 * holds the lock on their rows.
 */
export async function sweepForResends(
  client: DbClient,
  eventIds: readonly string[],
  ms: number,
  gapMs: number,
): Promise<void> {
  await client.query(
    `insert into order_work (order_id, started, sweep_at, requests)
     select order_id, true, ${inMs('($2 + $3 * (row_number() over () - 1))')}, 1
     from (select distinct order_id from webhook_event where id = any($1)) resent
     on conflict (order_id) do update set sweep_at = least(order_work.sweep_at, excluded.sweep_at),
       requests = order_work.requests + 1`,
    [eventIds, ms, gapMs],
  );
}

/**
 * Ends the sweep's work for an order that is settled, unless it still has to prove the last save. The caller holds the lock
 * on the order's row.
 */
export async function removeIfSettled(client: DbClient, orderId: string): Promise<void> {
  await client.query(
    `delete from order_work w using orders o
     where w.order_id = $1 and o.id = w.order_id and w.proven_sweep_at is null and ${SETTLED}`,
    [orderId],
  );
}

/**
 * Ends the sweep's work for an order that is settled.
 * @param version that the sweep has checked. After a later save it has to check again
 */
export async function finishSettled(db: Db, orderId: string, version: number): Promise<void> {
  await inTransaction(db, async (client) => {
    await lockOrder(client, orderId);
    await client.query(
      `delete from order_work w using orders o
       where w.order_id = $1 and o.id = w.order_id and o.version = $2 and ${SETTLED}`,
      [orderId, version],
    );
  });
}

/** An order that the sweep has to check. */
export interface DueOrder extends StoredOrder {
  settled: boolean;
  /** True if its workflow has webhooks to resend. */
  resendPending: boolean;
  /** True if its workflow has to request the lender's decision. */
  applicationPending: boolean;
  /** True if its customer has agreed to the offer but the order is not completed yet. */
  agreementPending: boolean;
  /** True if its next webhook should have been attempted a while ago. */
  webhookOverdue: boolean;
  /** True if its run was found stuck within the last hour. */
  stuckRecently: boolean;
  /** The number of requests so far that its workflow needs to know. */
  requests: number;
  /** By the clock of Postgres. */
  leasedAt: Date;
}

/** SQL, the relation `seller`: the sellers of orders whose workflow is not started. One index lookup for each, however many orders wait. */
const NEW_ORDERS_SELLERS = `recursive seller as (
    (select seller_id from order_work where not started order by seller_id limit 1)
    union all
    select (select w.seller_id from order_work w where not w.started and w.seller_id > s.seller_id
      order by w.seller_id limit 1)
    from seller s where s.seller_id is not null
  )`;

/** SQL that selects due orders `order_work w`, by the kind of work. `$1` is the limit. Workers share the orders. */
const DUE = {
  /** Somebody waits: a resend, an application or an agreement is not passed on yet. */
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
  checks: `select w.order_id from order_work w where w.started and w.requests <= w.requests_passed_on and w.sweep_at <= now()
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
    text: `with due as (
       ${DUE[kind]}
     ), leased as (
       update order_work w set sweep_at = ${inMs('$2')} where order_id in (select order_id from due)
       returning order_id, requests, ${STUCK_RECENTLY} as stuck_recently
     )
     select ${STORED_ORDER_COLUMNS}, ${SETTLED} as settled, ${RESEND_PENDING} as "resendPending",
       ${APPLICATION_PENDING} as "applicationPending", ${AGREEMENT_PENDING} as "agreementPending",
       ${WEBHOOK_OVERDUE} as "webhookOverdue", leased.stuck_recently as "stuckRecently", leased.requests,
       now() as "leasedAt"
     from orders o join leased on leased.order_id = o.id`,
    values: [limit, leaseMs],
  });
  return rows.map((row) => ({
    ...toStoredOrder(row),
    settled: row.settled,
    resendPending: row.resendPending,
    applicationPending: row.applicationPending,
    agreementPending: row.agreementPending,
    webhookOverdue: row.webhookOverdue,
    stuckRecently: row.stuckRecently,
    requests: row.requests,
    leasedAt: row.leasedAt,
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

/** True if the order's customer waits for the lender's decision. */
export async function isApplicationPending(db: DbClient, orderId: string): Promise<boolean> {
  const { rows } = await db.query<{ pending: boolean }>(
    `select ${APPLICATION_PENDING} as pending from orders o where id = $1`,
    [orderId],
  );
  return rows[0]?.pending ?? false;
}

/** Returns how many requests of an order its workflow needs to know. A caller that passes them on reads this first. */
export async function countRequests(db: DbClient, orderId: string): Promise<number> {
  const { rows } = await db.query<{ requests: number }>('select requests from order_work where order_id = $1', [
    orderId,
  ]);
  return rows[0]?.requests ?? 0;
}

/** What a caller knows of an order whose workflow runs. */
export interface KnownRun {
  /** That the workflow has; null if the caller has only sent it a signal. Of a later save, the caller knows nothing. */
  version: number | null;
  /** The number of requests that the caller has passed on. If there are more, the order stays due. */
  passedOn: number;
}

/**
 * Records that an order's workflow runs. The sweep checks the order again after `checkAfterMs`, an older order after as
 * long as it has existed, but at least daily, so that abandoned orders cost almost nothing. A settled order stays due.
 */
export async function markRunning(
  db: DbClient,
  orderId: string,
  checkAfterMs: number,
  { version, passedOn }: KnownRun,
): Promise<void> {
  await db.query({
    name: 'mark_running',
    text: `update order_work w set started = true, requests_passed_on = greatest(requests_passed_on, $3),
       proven_sweep_at = case when coalesce(w.saved_version, o.version) = $4 then null else w.proven_sweep_at end,
       sweep_at = case when requests > $3 or coalesce(w.saved_version, o.version) <> $4 or ($4::integer is null and w.proven_sweep_at is not null)
             or ${SETTLED}
           then sweep_at
         else now() + least(greatest($2 * interval '1 ms', now() - o.created_at), interval '1 day') end
     from orders o where order_id = $1 and o.id = order_id`,
    values: [orderId, checkAfterMs, passedOn, version],
  });
}

/** Records that an order's run was found stuck. */
export async function markStuck(db: DbClient, orderId: string): Promise<void> {
  await db.query('update order_work set stuck_at = now() where order_id = $1', [orderId]);
}

/** Makes the sweep check unsettled orders now, unless it is about to. */
export async function sweepNow(db: DbClient, orderIds: readonly string[]): Promise<void> {
  await db.query(
    `update order_work set sweep_at = now() where order_id = any($1) and sweep_at > now() + interval '30 seconds'`,
    [orderIds],
  );
}

/** Makes the sweep check the settled ones of these orders, whose runs should have ended. */
export async function sweepSettled(db: DbClient, orderIds: readonly string[]): Promise<void> {
  await db.query(
    `insert into order_work (order_id, started, sweep_at)
     select o.id, true, now() from orders o where o.id = any($1) and ${SETTLED} on conflict do nothing`,
    [orderIds],
  );
}

/** Makes the sweep check at most `limit` orders now whose next webhook should have been attempted a while ago. */
export async function sweepOverdue(db: DbClient, limit: number): Promise<void> {
  await db.query(
    `update order_work set sweep_at = now() where order_id in (
       select o.order_id from (select distinct order_id, order_id as id from webhook_event where state = 'pending') o
       join order_work w on w.order_id = o.order_id
       where w.sweep_at > now() + interval '30 seconds' and not ${STUCK_RECENTLY} and ${WEBHOOK_OVERDUE} limit $1)`,
    [limit],
  );
}

/**
 * How long ago the webhook that is overdue the longest should have been attempted, in seconds; about 0 if none is overdue.
 * Its cost grows with the orders whose webhooks have been pending for a while.
 */
export async function oldestOverdueWebhookSeconds(db: DbClient): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    // A webhook is created before it is due, so new ones need not be read (index `webhook_event_pending_by_age`).
    `select coalesce(greatest(extract(epoch from now() - min(${WEBHOOK_DUE_AT})), 0), 0)::float8 as seconds
     from (select distinct order_id as id from webhook_event
       where state = 'pending' and created_at < ${OVERDUE_BEFORE}) o`,
  );
  return rows[0]?.seconds ?? 0;
}

/**
 * Makes the sweep check an order now, settled or not, because a person has found that its workflow and its row differ. A stuck
 * run is replaced, however recently one was.
 */
export async function sweepDifference(db: DbClient, orderId: string): Promise<void> {
  await db.query(
    `insert into order_work (order_id, started, sweep_at) values ($1, true, now())
     on conflict (order_id) do update set sweep_at = now(), stuck_at = null`,
    [orderId],
  );
}

/**
 * Makes the sweep check an order within seconds, because its workflow is about to stop. It does nothing for a settled order.
 */
export async function sweepSoon(db: DbClient, orderId: string): Promise<void> {
  await db.query(
    `insert into order_work (order_id, started, sweep_at) select o.id, true, now() + interval '2 seconds' from orders o
     where o.id = $1 and not ${SETTLED}
     on conflict (order_id) do update set sweep_at = excluded.sweep_at`,
    [orderId],
  );
}

/** SQL, true for a change `t` of an order that has a webhook: see `isStatusChange`. */
export const isStatusChange = (t: string): string =>
  `(${t}.version is not null and ${t}.from_status <> ${t}.to_status)`;

/** SQL, true for the attempt `$2` at an event `e` that the last save of `order_work w` has added: the workflow has that save. */
const PROVES_SAVE = '($2::integer is not null and e.sequence is not distinct from w.saved_sequence)';

/** The right to make one attempt for an order. */
export interface DeliveryLease {
  /** When it expires, in Postgres' notation. No other lease of the order has the same value, so it fences this one. */
  token: string;
  /** When it was taken, by the clock of Postgres. */
  at: Date;
  /** The request that a resend answers, in Postgres' notation, because a Date lacks its microseconds; null for a step. */
  resendRequestedAt: string | null;
}

/**
 * Leases the delivery of an order's webhooks for one attempt, so that attempts never overlap, even if a timed-out activity
 * or the activity of a terminated workflow still executes.
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
       sweep_at = case when ${PROVES_SAVE} and w.requests <= w.requests_passed_on
         then coalesce(w.proven_sweep_at, w.sweep_at) else w.sweep_at end,
       proven_sweep_at = case when ${PROVES_SAVE} then null else w.proven_sweep_at end
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
