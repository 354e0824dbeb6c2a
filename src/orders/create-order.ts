import { randomUUID, createHash } from 'node:crypto';
import { Problem } from '../contracts/problem';
import { PROBLEMS } from '../contracts/problem-table';
import type { CreatedOrderBody } from '../contracts/order-schemas';
import { orderUrl, toCreatedOrderBody, toOrderFacts } from '../contracts/order-mapper';
import type { CreateOrderRequest } from '../contracts/request-schemas';
import { isLockTimeout, isPoolExhausted, violatedConstraint } from '../db/database-errors';
import { findOrderByReference, findIdempotencyKey, insertOrder } from '../db/orders';
import type { Seller } from '../db/sellers';
import { penceToPounds } from '../domain/money';
import { PAYMENT_TERMS, type OrderFacts } from '../domain/order';
import { reportChange } from '../telemetry/report';
import type { OrderDependencies } from './dependencies';

interface CreatedOrder {
  body: CreatedOrderBody;
  /** True if this is the response to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
}

/** An Idempotency-Key, and the body as it was sent with it. */
interface Idempotency {
  key: string;
  body: unknown;
}

/**
 * Creates an order, or replays the response to a request with the same Idempotency-Key that has just created one.
 * @throws Problem if customers could not check out, the reference is taken, the key is in use, or the quota is reached
 */
export async function createOrder(
  deps: OrderDependencies,
  seller: Seller,
  request: CreateOrderRequest,
  idempotency?: Idempotency,
): Promise<CreatedOrder> {
  const allowedPaymentTerms = request.allowed_payment_terms ?? PAYMENT_TERMS;
  const obstacle = deps.checkoutObstacle({ sandbox: seller.sandbox, allowedPaymentTerms });
  if (obstacle !== undefined) throw new Problem('checkout_not_ready', obstacle);
  deps.quotas.check(seller);
  const facts = toOrderFacts(request, seller, { id: randomUUID(), payLinkId: randomUUID() });
  const body = toCreatedOrderBody(facts, deps.checkoutBaseUrl);
  const order = await insertOrder(deps.insertDb, facts, {
    expiresAt: request.expires_at,
    expiresAfterMs: deps.expiresAfterMs,
    idempotency: idempotency && {
      key: idempotency.key,
      requestDigest: toRequestDigest(idempotency.body),
      response: body,
    },
  }).catch((error: unknown) => throwProblem(deps, facts, error));
  if (!order) {
    const earlier = await replayOrder(deps, seller, idempotency);
    if (!earlier) throw new Error('the insert returned no row without a conflict');
    return earlier;
  }
  deps.quotas.count(seller.id, facts);
  for (const change of order.changes) reportChange(deps.log, order, change);
  // After the response is written, which the call to Temporal would delay.
  setImmediate(() => deps.starter.start(order));
  return { body, replayed: false };
}

/**
 * Replays the response to an earlier request with the same Idempotency-Key, if there is one. It comes before every rule,
 * which may have become stricter since.
 * @throws Problem `idempotency_key_reused` if that request had another body
 */
export async function replayOrder(
  { db }: OrderDependencies,
  seller: Seller,
  idempotency: Idempotency | undefined,
): Promise<CreatedOrder | undefined> {
  const stored = idempotency && (await findIdempotencyKey(db, seller.id, idempotency.key));
  if (!stored) return undefined;
  if (!toRequestDigest(idempotency.body).equals(stored.requestDigest)) throw new Problem('idempotency_key_reused');
  return { body: stored.response, replayed: true };
}

/** Throws what the caller can do about an error of the insert, or the error itself. */
async function throwProblem(
  { db, checkoutBaseUrl }: OrderDependencies,
  { sellerId, reference }: OrderFacts,
  error: unknown,
): Promise<never> {
  if (isLockTimeout(error, 'idempotency_key'))
    throw new Problem('idempotency_key_in_progress', undefined, { retryAfterS: 1 });
  if (isLockTimeout(error, 'orders_reference')) throw referenceInProgress(error);
  if (isPoolExhausted(error)) throw new Problem('overloaded', undefined, { retryAfterS: 5 });
  if (violatedConstraint(error) !== 'orders_reference') throw error;
  const holder = await findOrderByReference(db, sellerId, reference);
  // The holder has become UNSUCCESSFUL since the insert.
  if (!holder) throw referenceInProgress(error);
  throw new Problem('duplicate_reference', undefined, {
    errors: PROBLEMS.duplicate_reference.errors,
    members: {
      order_id: holder.id,
      order_url: orderUrl(holder, checkoutBaseUrl),
      order_status: holder.status,
      order_amount: penceToPounds(holder.amountPence),
    },
  });
}

function referenceInProgress(cause: unknown): Problem {
  return new Problem(
    'service_unavailable',
    'The order with this reference is just being created or closed. Nothing changed. Repeating the call is safe.',
    { retryAfterS: 1, cause },
  );
}

/** Digest of a body as a JSON value, whose keys may be in any order. */
export function toRequestDigest(body: unknown): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(body)))
    .digest();
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, child]) => [key, sortKeys(child)]));
}
