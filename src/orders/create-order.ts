import { randomUUID, createHash } from 'node:crypto';
import { invalidRequest, Problem, type FieldError } from '../contracts/problem';
import { PROBLEMS } from '../contracts/problem-table';
import type { CreatedOrderBody } from '../contracts/order-schemas';
import { orderUrl, toCreatedOrderBody, toOrderFacts } from '../contracts/order-mapper';
import type { CreateOrderRequest } from '../contracts/request-schemas';
import { isLockTimeout, isPoolExhausted, violatedConstraint } from '../db/database-errors';
import { findIdempotencyKey } from '../db/idempotency-keys';
import { findOrderByReference } from '../db/find-orders';
import { insertOrder } from '../db/save-order';
import type { Seller } from '../db/sellers';
import { penceToPounds, formatPence } from '../domain/money';
import { MAX_EXPIRY_DAYS, PAYMENT_TERMS, type OrderFacts } from '../domain/order';
import { reportChange } from '../telemetry/report';
import type { OrderDependencies } from './dependencies';

const DAY_MS = 86_400_000;

interface CreatedOrder {
  body: CreatedOrderBody;
  /** True if this is the response to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
}

/**
 * Creates an order, or replays the response to an earlier request with the same Idempotency-Key.
 * @param fieldErrors what the rules and the account refuse
 * @throws Problem if there are field errors, customers could not check out, the reference is taken, or the key is in use
 */
export async function createOrder(
  deps: OrderDependencies,
  seller: Seller,
  request: CreateOrderRequest,
  fieldErrors: readonly FieldError[],
  idempotencyKey: string | undefined,
): Promise<CreatedOrder> {
  const refusal = fieldErrors.length > 0 ? invalidRequest(fieldErrors) : checkoutNotReady(deps, seller, request);
  if (refusal) {
    const earlier = await replayOrder(deps, seller, request, idempotencyKey);
    if (earlier) return earlier;
    throw refusal;
  }
  const facts = toOrderFacts(request, seller, { id: randomUUID(), payLinkId: randomUUID() });
  const body = toCreatedOrderBody(facts, deps.checkoutBaseUrl);
  const order = await insertOrder(deps.insertDb, facts, {
    by: { actor: 'seller', channel: 'api' },
    expiresAt: request.expires_at,
    expiresAfterMs: deps.expiresAfterMs,
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : { key: idempotencyKey, requestDigest: toRequestDigest(request), response: body },
  }).catch((error: unknown) => throwProblem(deps, facts, error));
  if (!order) {
    const earlier = await replayOrder(deps, seller, request, idempotencyKey);
    if (!earlier) throw new Error('the insert returned no row without a conflict');
    return earlier;
  }
  for (const change of order.changes) reportChange(deps.log, order.id, change);
  // After the response is written, which the call to Temporal would delay.
  setImmediate(() => deps.starter.start(order));
  return { body, replayed: false };
}

/**
 * Replays the response to an earlier request with the same Idempotency-Key, if there is one. Stricter rules or account
 * settings do not change the response to a request that was accepted before.
 */
async function replayOrder(
  { db }: OrderDependencies,
  seller: Seller,
  request: CreateOrderRequest,
  idempotencyKey: string | undefined,
): Promise<CreatedOrder | undefined> {
  const stored = idempotencyKey === undefined ? undefined : await findIdempotencyKey(db, seller.id, idempotencyKey);
  if (!stored) return undefined;
  if (!stored.requestDigest.equals(toRequestDigest(request))) throw new Problem('idempotency_key_reused');
  return { body: stored.response, replayed: true };
}

function checkoutNotReady(
  { checkoutObstacle }: OrderDependencies,
  { sandbox }: Seller,
  request: CreateOrderRequest,
): Problem | undefined {
  const allowedPaymentTerms = request.allowed_payment_terms ?? PAYMENT_TERMS;
  const obstacle = checkoutObstacle({ sandbox, allowedPaymentTerms });
  return obstacle === undefined ? undefined : new Problem('checkout_not_ready', obstacle);
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

/**
 * Checks a create request beyond the schema: the amount is within the account's limit, there is a redirect URL if the
 * account has no default, and the order expires in the future, within a year.
 * @param body as it was sent: fields of the wrong type are left to the schema
 */
export function accountErrors({ maxOrderAmountPence, defaultRedirectUrl }: Seller, body: unknown): FieldError[] {
  const data: unknown = (body as { data?: unknown } | null)?.data;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return [];
  const { amount, redirect_url: redirectUrl, expires_at: expiresAt } = data as Record<string, unknown>;
  const errors: FieldError[] = [];
  if (maxOrderAmountPence !== null && typeof amount === 'number' && Math.round(amount * 100) > maxOrderAmountPence) {
    const detail = `must be at most ${formatPence(maxOrderAmountPence)}, the limit of your account`;
    errors.push({ code: 'too_big', detail, pointer: '/data/amount' });
  }
  if (defaultRedirectUrl === null && (redirectUrl === undefined || redirectUrl === null)) {
    const detail = 'is required: your account has no default redirect URL';
    errors.push({ code: 'required', detail, pointer: '/data/redirect_url' });
  }
  const expiresInMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) - Date.now() : NaN;
  if (expiresInMs <= 0)
    errors.push({ code: 'too_small', detail: 'must be in the future', pointer: '/data/expires_at' });
  if (expiresInMs > MAX_EXPIRY_DAYS * DAY_MS) {
    const detail = `must be at most ${MAX_EXPIRY_DAYS} days from now`;
    errors.push({ code: 'too_big', detail, pointer: '/data/expires_at' });
  }
  return errors;
}

/** The first byte of a digest, so that a change of the digest can still compare older ones. */
const DIGEST_VERSION = Buffer.of(1);

/** Digest of a request's meaning: the schema fixes the order of its fields, and the keys of `meta_data` are sorted. */
export function toRequestDigest(request: CreateOrderRequest): Buffer {
  const canonical = { ...request, meta_data: request.meta_data && sortKeys(request.meta_data) };
  return Buffer.concat([DIGEST_VERSION, createHash('sha256').update(JSON.stringify(canonical)).digest()]);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, child]) => [key, sortKeys(child)]));
}
