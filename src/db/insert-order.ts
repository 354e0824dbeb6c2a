import { type Attachments, type Order, type OrderChange, type OrderHistory, createHistory } from '../domain/order';
import type { CreatedOrderBody } from '../contracts/order-schemas';
import { type Db, runStatement } from './pool';

/** An Idempotency-Key with the request that it belongs to, and the response that a repeat gets. */
export interface NewIdempotencyKey {
  key: string;
  requestDigest: Buffer;
  response: CreatedOrderBody;
}

/** An order that is dated when it is inserted. */
export type UndatedOrder = Omit<Order, 'createdAt' | 'updatedAt' | 'expiresAt'>;

export interface NewOrder {
  /** Default of `createdAt`: now. */
  order: UndatedOrder & Partial<Pick<Order, 'createdAt' | 'expiresAt'>>;
  by: Pick<OrderChange, 'actor' | 'channel'>;
  /** Milliseconds; undefined for never. */
  expiresAfterMs?: number | undefined;
  attachments: Attachments;
  idempotency: NewIdempotencyKey | undefined;
}

/**
 * Inserts the order, its first timeline entry, its start request and its Idempotency-Key in one statement: all or
 * nothing.
 * A second request with the same key waits here, on the key's index, until the first one commits.
 * @returns the order's history; undefined if the key is stored already
 * @throws a unique violation of `orders_reference` if another order holds the seller's reference
 */
export async function insertOrder(
  db: Db,
  { order, by, expiresAfterMs, attachments, idempotency }: NewOrder,
): Promise<OrderHistory | undefined> {
  const { rows } = await runStatement<{ createdAt: Date; expiresAt: Date | null }>(db, {
    name: 'insert_order',
    text: `with new_key as (
       insert into idempotency_key (seller_id, key, request_digest, order_id, response)
       select $2, $17, $18, $1, $19 where $17::text is not null
       on conflict do nothing returning key
     ), new_order as (
       insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
         webhook_url, pay_link_id, pricing, source, meta_data, created_at, expires_at, version, status, cancel_url, sandbox)
       select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, at, coalesce($14, at + $24 * interval '1 ms'), $15, $16,
         $21, $22
       from (select coalesce($13::timestamptz, listed_time()) as at offset 0) as dated
       where $17::text is null or exists (select from new_key)
       returning id, seller_id, created_at, expires_at
     ), start as (
       insert into start_request (order_id, seller_id) select id, seller_id from new_order
     )
     insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, reason, at)
     select id, $15, 'created', null, $16, $20, $23, null, created_at from new_order
     returning at as "createdAt", (select expires_at from new_order) as "expiresAt"`,
    values: [
      order.id,
      order.sellerId,
      order.sellerName,
      order.amountPence,
      order.reference,
      order.allowedPaymentTerms,
      order.redirectUrl,
      order.webhookUrl,
      order.payLinkId,
      order.pricing,
      attachments.source,
      attachments.metaData,
      order.createdAt,
      order.expiresAt,
      order.version,
      order.status,
      idempotency?.key,
      idempotency?.requestDigest,
      idempotency && JSON.stringify(idempotency.response),
      by.actor,
      order.cancelUrl,
      order.sandbox,
      by.channel,
      expiresAfterMs,
    ],
  });
  const [dated] = rows;
  if (!dated) return undefined;
  const times = { createdAt: dated.createdAt.toISOString(), expiresAt: dated.expiresAt?.toISOString() ?? null };
  return createHistory({ ...order, ...times }, by);
}
