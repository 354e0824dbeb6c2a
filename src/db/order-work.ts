import { inMs } from './clock';
import { CURRENT_PAYMENT } from './current-payment';
import { lockOrder } from './find-orders';
import { type Db, type DbClient, inTransaction } from './pool';

/*
 * The rules about what is left to do for an order: when the sweep checks it, and when it is settled. A row of
 * `order_work` exists while the order is not settled, and then until something shows that Temporal's history has the
 * order's last save: an attempt at its webhook, or the sweep. due-orders.ts has the sweep's lease, delivery-lease.ts
 * that of an attempt. The functions `save_change` and `record_attempt` in the migrations write `order_work` too.
 */

/** SQL, true for an order `o` that is settled: final, with no pending webhook event and no requested resend. */
export const SETTLED = 'is_settled(o.id, o.status)';

/** SQL, true for an order `o` that is open: not final. */
const OPEN = `o.status not in ('SUCCESSFUL', 'UNSUCCESSFUL')`;

/** SQL, true for an order `o` with an application that the lender has not decided on. */
const APPLICATION_UNDECIDED = `exists (select from application a
  where a.order_id = o.id and a.submitted_at is not null and a.decision is null and a.purged_at is null)`;

/**
 * SQL, true for an order `o` whose status does not show the decision on its application or the result of its payment
 * yet. It may be recorded already. A restored backup may lack the decision on an application of an APPROVED order.
 */
export const DECISION_PENDING = `((o.status = 'PENDING'
    and exists (select from application a where a.order_id = o.id and a.submitted_at is not null))
  or (o.status = 'APPROVED' and ${APPLICATION_UNDECIDED})
  or (o.status in ('PENDING', 'APPROVED')
    and exists (select from payment where order_id = o.id and ${CURRENT_PAYMENT})))`;

/**
 * SQL, true for an APPROVED order `o` that is not completed yet although its customer has agreed to the offer or paid.
 */
export const AGREEMENT_PENDING = `(o.status = 'APPROVED' and exists (
  select from application a where a.order_id = o.id and a.agreed_at is not null))`;

/** SQL, true for an order `o` with a webhook that is to be resent. */
export const RESEND_PENDING = `exists (
  select from webhook_event e where e.order_id = o.id and e.resend_requested_at is not null)`;

/**
 * SQL: when the next webhook of an order `o` is due; null if none is pending. An event becomes the next one when the
 * one before it has ended.
 */
const WEBHOOK_DUE_AT = `(
  select coalesce(e.next_attempt_at, greatest(e.created_at, (select max(a.at) from webhook_attempt a
    join webhook_event other on other.id = a.event_id where other.order_id = o.id)))
  from webhook_event e where e.order_id = o.id and e.state = 'pending' order by e.sequence limit 1)`;

/** SQL: a webhook that was due before this time is overdue. */
const OVERDUE_BEFORE = `now() - interval '10 minutes'`;

/** SQL, true for an order `o` whose next webhook should have been attempted a while ago. */
export const WEBHOOK_OVERDUE = `coalesce(${WEBHOOK_DUE_AT} < ${OVERDUE_BEFORE}, false)`;

/** SQL, true for the work `w` of an order whose run was found stuck within the last hour. */
export const STUCK_RECENTLY = `coalesce(w.stuck_at > now() - interval '1 hour', false)`;

/** SQL, true for the work `w` of an order whose last save may not be in Temporal's history yet. */
export const SAVED_RECENTLY = `coalesce(w.saved_at > now() - interval '30 seconds', false)`;

/**
 * SQL: an order whose check is due before this is about to be checked, or is being checked: a sweep leases it for 30 s.
 */
const SOON = `now() + interval '30 seconds'`;

/**
 * SQL that adds new orders to the sweep's work.
 * @param orders a relation with the columns `id` and `seller_id`
 * @param ms a parameter: milliseconds until the sweep may start the workflow
 */
export const addNewOrders = (orders: string, ms: string): string =>
  `insert into order_work (order_id, seller_id, waiting_since, sweep_at)
   select id, seller_id, now(), ${inMs(ms)} from ${orders}`;

/** Adds an open order, whose row was rebuilt from its workflow, to the sweep's work: the sweep checks it now. */
export async function addRebuiltOrder(db: DbClient, orderId: string): Promise<void> {
  await db.query('insert into order_work (order_id, started, sweep_at) values ($1, true, now())', [orderId]);
}

/**
 * SQL that sets columns of the work `w` of an order once something shows that Temporal's history has its last save: the
 * next check is the regular one, unless a request is not passed on yet.
 * @param isProven SQL, true if something shows it
 */
export const setSaveProven = (isProven: string): string =>
  `sweep_at = case when ${isProven} and w.requests <= w.requests_passed_on
         then coalesce(w.proven_sweep_at, w.sweep_at) else w.sweep_at end,
       proven_sweep_at = case when ${isProven} then null else w.proven_sweep_at end`;

/**
 * SQL that adds a request for the workflows of open orders. If it is not passed on within `ms`, the sweep does.
 * @param orders a relation with the column `order_id`
 */
export const addWorkflowRequest = (orders: string, ms: string): string =>
  `update order_work set sweep_at = least(sweep_at, ${inMs(ms)}), requests = nextval('order_request')
   where order_id in (select order_id from ${orders})`;

/**
 * Makes the sweep check the events' orders within `ms`, settled orders too, each `gapMs` after the one before. The
 * caller holds the lock on their rows.
 */
export async function makeDueForResends(
  client: DbClient,
  eventIds: readonly string[],
  ms: number,
  gapMs: number,
): Promise<void> {
  await client.query(
    `insert into order_work (order_id, started, sweep_at, requests)
     select order_id, true, ${inMs('($2 + $3 * (row_number() over () - 1))')}, nextval('order_request')
     from (select distinct order_id from webhook_event where id = any($1) order by order_id) resent
     on conflict (order_id) do update set sweep_at = least(order_work.sweep_at, excluded.sweep_at),
       -- Not the number of the insert: another request may have got a later one before this one had the lock.
       requests = nextval('order_request')`,
    [eventIds, ms, gapMs],
  );
}

/**
 * Ends the sweep's work for an order that is settled, unless it still has to prove the last save. The caller holds the
 * lock on the order's row. `record_attempt` has the same statement, so that an attempt is recorded in one round trip.
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

/** True if the order's status does not show the lender's decision or the bank's result yet. */
export async function isDecisionPending(db: DbClient, orderId: string): Promise<boolean> {
  const { rows } = await db.query<{ pending: boolean }>(
    `select ${DECISION_PENDING} as pending from orders o where id = $1`,
    [orderId],
  );
  return rows[0]?.pending ?? false;
}

/** What the API passes on to an order's workflow: requested resends, or that a decision is requested. */
export type RequestKind = 'resends' | 'decision';

/**
 * Returns the request number that the caller may record as passed on once it has passed on `kind`. Read it before
 * passing on. If a request of another kind waits, returns the number already recorded, so that the sweep passes on the
 * rest; 0 without work.
 */
export async function lastRequestToConfirm(db: DbClient, orderId: string, kind: RequestKind): Promise<number> {
  const other = kind === 'resends' ? DECISION_PENDING : RESEND_PENDING;
  const { rows } = await db.query<{ requests: number }>({
    name: `last_request_to_confirm_${kind}`,
    text: `select
        (case when ${AGREEMENT_PENDING} or ${other} then w.requests_passed_on else w.requests end)::float8 as requests
      from order_work w join orders o on o.id = w.order_id where w.order_id = $1`,
    values: [orderId],
  });
  return rows[0]?.requests ?? 0;
}

/** What a caller knows of an order whose workflow runs. */
interface KnownRun {
  /**
   * The version that the workflow has; null if the caller has only sent a signal, which proves nothing about the last
   * save.
   */
  version: number | null;
  /** The number of the last request that the caller has passed on. If there is a later one, the order stays due. */
  passedOn: number;
}

/** SQL, true for an order `o` with a payment in progress, or an application without a decision. */
const AWAITS_PROVIDER = `(exists (select from payment where order_id = o.id and closed_at is null)
  or ${APPLICATION_UNDECIDED})`;

/**
 * Records that an order's workflow runs. The sweep checks the order again after `checkAfterMs`, an older order after as
 * long as it has existed, but at least daily, so that abandoned orders cost almost nothing. There are exceptions,
 * because a restored Temporal may lack the run or its requests: an order whose payment or application is undecided is
 * checked like a new one, one with a requested resend hourly, and an open one at the latest `checkAfterMs` after its
 * expiry. A settled order stays due.
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
       sweep_at = case when requests > $3 or coalesce(w.saved_version, o.version) <> $4
             or ($4::integer is null and w.proven_sweep_at is not null) or ${SETTLED}
           then sweep_at
         when now() - o.created_at <= $2 * interval '1 ms' or ${AWAITS_PROVIDER} then ${inMs('$2')}
         else least(
           now() + least(now() - o.created_at,
             case when ${RESEND_PENDING} then interval '1 hour' else interval '1 day' end),
           case when o.expires_at is not null and ${OPEN}
             then greatest(o.expires_at, now()) + $2 * interval '1 ms' end) end
     from orders o where order_id = $1 and o.id = order_id`,
    values: [orderId, checkAfterMs, passedOn, version],
  });
}

/** Records that an order's run was found stuck. */
export async function markStuck(db: DbClient, orderId: string): Promise<void> {
  await db.query('update order_work set stuck_at = now() where order_id = $1', [orderId]);
}

/**
 * SQL that makes the sweep check orders now, unless it is about to. It locks them by their ids, as a resend of many
 * webhooks does: otherwise, two that meet could wait for each other.
 * @param which orders, by the columns of `order_work w`
 */
const setDue = (which: string): string =>
  `with due as (
     select order_id from order_work w where w.sweep_at > ${SOON} and ${which} order by order_id for no key update
   )
   update order_work set sweep_at = now() where order_id in (select order_id from due)`;

/** Makes the sweep check those of these orders now that have a row in `order_work`, unless it is about to. */
export async function makeDue(db: DbClient, orderIds: readonly string[]): Promise<void> {
  await db.query(setDue('w.order_id = any($1)'), [orderIds]);
}

/** The same, except for orders whose run was found stuck within the last hour. */
export async function makeDueUnlessStuckRecently(db: DbClient, orderIds: readonly string[]): Promise<void> {
  await db.query(setDue(`w.order_id = any($1) and not ${STUCK_RECENTLY}`), [orderIds]);
}

/**
 * Makes the sweep check those of these orders now whose row has another status than their open run. One that has just
 * been saved is left out: Temporal may list the status before.
 * @param statuses of the runs
 */
export async function makeDueIfStatusDiffers(
  db: Db,
  orderIds: readonly string[],
  statuses: readonly (string | undefined)[],
): Promise<void> {
  await db.query(
    setDue(`not ${SAVED_RECENTLY} and w.order_id in (
      select o.id from orders o join unnest($1::uuid[], $2::text[]) as run (order_id, status) on run.order_id = o.id
      where o.status <> run.status)`),
    [orderIds, statuses],
  );
}

/**
 * Makes the sweep check those of these orders now that are open.
 * @returns how many of them are open or have no row
 */
export async function makeDueIfOpen(db: Db, orderIds: readonly string[]): Promise<number> {
  const { rows } = await db.query<{ id: string; isOpen: boolean }>(
    `select id, o.id is not null as "isOpen" from unnest($1::uuid[]) as id left join orders o using (id)
     where o.id is null or ${OPEN}`,
    [orderIds],
  );
  const openIds = rows.filter(({ isOpen }) => isOpen).map(({ id }) => id);
  await makeDue(db, openIds);
  return rows.length;
}

/**
 * Makes the sweep check the settled ones of these orders, whose runs should have ended. Leaves out orders that are
 * being changed: to wait for their rows after the insert could be a deadlock.
 */
export async function makeDueIfSettled(db: DbClient, orderIds: readonly string[]): Promise<void> {
  await db.query(
    `insert into order_work (order_id, started, sweep_at)
     select o.id, true, now() from orders o where o.id = any($1) and ${SETTLED}
     order by o.id for key share of o skip locked on conflict do nothing`,
    [orderIds],
  );
}

/**
 * Makes the sweep check at most `limit` orders now whose next webhook should have been attempted a while ago. They are chosen at
 * random: if there are more of them, and their runs are busy, they are still overdue after their check, and the same ones would
 * be chosen each time.
 */
export async function makeDueIfWebhookOverdue(db: DbClient, limit: number): Promise<void> {
  await db.query(
    setDue(`w.order_id in (
       -- Most pending webhooks wait for their next attempt, and need no closer look.
       select o.order_id from (select distinct order_id, order_id as id from webhook_event
         where state = 'pending' and coalesce(next_attempt_at, created_at) < ${OVERDUE_BEFORE}) o
       join order_work w on w.order_id = o.order_id
       where w.sweep_at > ${SOON} and not ${STUCK_RECENTLY} and ${WEBHOOK_OVERDUE}
       order by random() limit $1)`),
    [limit],
  );
}

/**
 * How long ago the webhook that is overdue the longest should have been attempted, in seconds; about 0 if none is
 * overdue. Its cost grows with the orders whose webhooks have been pending for a while.
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
 * Makes the sweep check an order now, settled or not, because a person has found that its workflow and its row differ.
 * A stuck run is replaced, however recently one was.
 */
export async function makeDueForRepair(db: DbClient, orderId: string): Promise<void> {
  await db.query(
    // Locks the order before its work, as a resend does: otherwise, each could wait for the other.
    `insert into order_work (order_id, started, sweep_at)
     select o.id, true, now() from orders o where o.id = $1 for key share
     on conflict (order_id) do update set sweep_at = now(), stuck_at = null`,
    [orderId],
  );
}

/**
 * Makes the sweep check an order within seconds, because its workflow is about to stop. It does nothing for a settled
 * order.
 */
export async function makeDueSoon(db: DbClient, orderId: string): Promise<void> {
  await db.query(
    // Locks the order before its work, as a resend does: otherwise, each could wait for the other.
    `insert into order_work (order_id, started, sweep_at) select o.id, true, now() + interval '2 seconds' from orders o
     where o.id = $1 and not ${SETTLED} for key share of o
     on conflict (order_id) do update set sweep_at = excluded.sweep_at`,
    [orderId],
  );
}
