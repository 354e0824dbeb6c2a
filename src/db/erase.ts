import type { OrderStatus } from '../domain/order';
import type { DbClient } from './pool';
import { DELETE_CONTENT } from './retention';

/** An order whose personal data a person wants to be erased. */
export interface ErasableOrder {
  id: string;
  reference: string;
  amountPence: number;
  status: OrderStatus;
  /** Why its data cannot be erased yet, in words; null if it can. */
  obstacle: string | null;
}

const COLUMNS = `o.id, o.reference, o.amount_pence as "amountPence", o.status, case
  when o.status not in ('SUCCESSFUL', 'UNSUCCESSFUL') then 'the order is open: cancel it first'
  when o.behind_version is not null then 'the order waits for reconcile'
  when exists (select from checkout_unsettled where order_id = o.id) then 'a payment is not settled: see payment list'
  when exists (select from webhook_event where order_id = o.id and state = 'pending') then 'a webhook is pending'
  end as obstacle`;

export async function findErasable(db: DbClient, orderIds: readonly string[]): Promise<ErasableOrder[]> {
  const { rows } = await db.query<ErasableOrder>(
    `select ${COLUMNS} from orders o where id = any($1::uuid[]) order by created_at, id`,
    [orderIds],
  );
  return rows;
}

/** Finds an order of a seller whose data cannot be erased yet. */
export async function findObstacle(db: DbClient, sellerId: string): Promise<ErasableOrder | undefined> {
  const { rows } = await db.query<ErasableOrder>(
    `select ${COLUMNS} from orders o where seller_id = $1 and id in (
       select id from orders where seller_id = $1 and status in ('CREATED', 'PENDING', 'APPROVED')
       union all select order_id from webhook_event where seller_id = $1 and state = 'pending'
       union all select order_id from checkout_unsettled
       union all select id from orders where behind_version is not null) limit 1`,
    [sellerId],
  );
  return rows[0];
}

/**
 * Locks orders against changes and attempts until the transaction ends. What is read afterwards stays true.
 * @returns as `findErasable`
 */
export async function lockErasable(client: DbClient, orderIds: readonly string[]): Promise<ErasableOrder[]> {
  await client.query('select from orders where id = any($1::uuid[]) order by id for update', [orderIds]);
  return findErasable(client, orderIds);
}

/** SQL: the scheme and the host of a URL. */
const originOf = (column: string): string => `${column} = substring(${column} from '^[^:]+://[^/?#]+') || '/'`;

/** Erases what orders without an obstacle can hold about a person. Accounts keep amount, reference, status and times. */
export async function eraseOrders(client: DbClient, orderIds: readonly string[]): Promise<void> {
  await client.query(
    `with due as (
       select id from webhook_event where order_id = any($1::uuid[]) and content_deleted_at is null
     ), ${DELETE_CONTENT}, facts as (
       update orders set meta_data = null, source = null, gone_url = null, ${['redirect_url', 'cancel_url', 'webhook_url'].map(originOf).join(', ')}
       where id = any($1)
     ), reasons as (
       update order_timeline set reason = null where order_id = any($1) and reason is not null
     )
     select`,
    [orderIds],
  );
}

/** Erases what an account holds, except its name, and disables it. */
export async function eraseSeller(client: DbClient, sellerId: string): Promise<void> {
  await client.query(
    `with keys as (update api_key set revoked_at = coalesce(revoked_at, now()), label = null where seller_id = $1),
       secrets as (delete from webhook_secret where seller_id = $1),
       tests as (delete from webhook_test where seller_id = $1),
       sessions as (delete from portal_session where seller_id = $1),
       notices as (delete from endpoint_notice where seller_id = $1)
     update seller set disabled_at = coalesce(disabled_at, now()), default_redirect_url = null,
       default_cancel_url = null, webhook_headers = null, webhook_url = null, webhook_replaces = '{}' where id = $1`,
    [sellerId],
  );
}

/** Everything that is stored with an order, as its rows; without the seller's own endpoint, which may be a secret. */
export async function exportOrders(db: DbClient, orderIds: readonly string[]): Promise<{ id: string; held: object }[]> {
  const all = (table: string, where: string, order: string): string =>
    `(select coalesce(jsonb_agg(to_jsonb(t) order by ${order}), '[]') from ${table} t where ${where})`;
  const { rows } = await db.query<{ id: string; held: object }>(
    `select o.id, jsonb_build_object('order', to_jsonb(o) - array['webhook_url', 'gone_url'],
       'timeline', ${all('order_timeline', 'order_id = o.id', 'position')},
       'idempotency_keys', ${all('idempotency_key', 'order_id = o.id', 'key')},
       'webhooks', ${all('webhook_event', 'order_id = o.id', 'sequence')},
       'webhook_attempts', ${all('webhook_attempt', 'event_id in (select id from webhook_event where order_id = o.id)', 'position')}
     ) as held from orders o where id = any($1::uuid[]) order by created_at, id`,
    [orderIds],
  );
  return rows;
}
