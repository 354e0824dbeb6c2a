import { createHash, randomUUID } from 'node:crypto';
import type { CreatedOrderBody } from '../contracts/order';
import { orderUrl, toCreatedOrderBody } from '../contracts/order';
import { Problem } from '../contracts/problem';
import type { CreateOrderRequest } from '../contracts/requests';
import { insertOrder } from '../db/create-order';
import { isLockTimeout, violatedConstraint } from '../db/errors';
import { findIdempotencyKey } from '../db/idempotency-keys';
import { findOrderByReference } from '../db/orders';
import type { Seller } from '../db/sellers';
import type { Order } from '../domain/order';
import { formatPence } from '../domain/money';
import { PAYMENT_TERMS, created } from '../domain/order';
import { withOrderId } from '../domain/redirect-url';
import type { OrderDependencies } from './dependencies';

/** A reference may be given up, or a key be forgotten, while we look up who holds it. */
const MAX_TRIES = 3;

export interface CreatedOrder {
  body: CreatedOrderBody;
  /** Whether it is the answer that an earlier request with the same Idempotency-Key got. */
  replayed: boolean;
}

/** @throws Problem where the reference is taken, the key in use, or the amount above the seller's own limit */
export async function createOrder(
  deps: OrderDependencies,
  seller: Seller,
  request: CreateOrderRequest,
  idempotencyKey: string | undefined,
): Promise<CreatedOrder> {
  const tooMuch = aboveOwnLimit(seller, request.amount);
  if (tooMuch) {
    // A limit that was lowered since takes back nothing that was answered before.
    const earlier = idempotencyKey && (await replay(deps, seller.id, idempotencyKey, digestOf(request)));
    if (earlier) return earlier;
    throw tooMuch;
  }
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const created = await tryToCreate(deps, seller, request, idempotencyKey);
    if (created) return created;
  }
  throw new Problem(
    'service_unavailable',
    'The reference was taken and given up again at each try. Nothing was changed; repeating the call is safe.',
    { headers: { 'Retry-After': '1' } },
  );
}

/** @returns undefined where what stood in its way is gone by now, so that another try may do */
async function tryToCreate(
  deps: OrderDependencies,
  seller: Seller,
  request: CreateOrderRequest,
  key: string | undefined,
): Promise<CreatedOrder | undefined> {
  const requestDigest = digestOf(request);
  const order = newOrder(deps, seller, request);
  const body = toCreatedOrderBody(order, deps.checkoutBaseUrl);
  const history = created(order, 'seller');
  try {
    const inserted = await insertOrder(deps.db, {
      ...history,
      attachments: { source: request.source ?? null, metaData: request.meta_data ?? null },
      sweepAfterMs: deps.sweepStartAfterMs,
      idempotency: key === undefined ? undefined : { key, requestDigest, response: body },
    });
    if (inserted) {
      deps.starter.start(history);
      return { body, replayed: false };
    }
  } catch (error) {
    if (isLockTimeout(error, 'idempotency_key')) throw stillRunning();
    if (violatedConstraint(error) !== 'orders_reference') throw error;
    await throwIfTaken(deps, seller.id, request.reference);
    return undefined;
  }
  if (key === undefined) throw new Error('no row was inserted, and no key was claimed');
  return replay(deps, seller.id, key, requestDigest);
}

function digestOf(request: CreateOrderRequest): Buffer {
  return createHash('sha256').update(JSON.stringify(request)).digest();
}

function aboveOwnLimit({ maxAmountPence }: Seller, amountPence: number): Problem | undefined {
  if (maxAmountPence === null || amountPence <= maxAmountPence) return undefined;
  const detail = `must be at most ${formatPence(maxAmountPence)}, the limit of your account`;
  return new Problem('invalid_request', `/data/amount ${detail}.`, {
    errors: [{ code: 'too_big', detail, pointer: '/data/amount' }],
  });
}

function newOrder(deps: OrderDependencies, seller: Seller, request: CreateOrderRequest): Order {
  const id = randomUUID();
  const now = Date.now();
  const redirectUrl = request.redirect_url ?? seller.defaultRedirectUrl;
  if (redirectUrl === null) throw new Error('the request schema lets no order through without a redirect address');
  return {
    id,
    sellerId: seller.id,
    sellerName: seller.name,
    amountPence: request.amount,
    reference: request.reference,
    allowedPaymentTerms: request.allowed_payment_terms ?? PAYMENT_TERMS,
    redirectUrl: withOrderId(redirectUrl, id),
    webhookUrl: request.webhook_url ?? null,
    payLinkId: randomUUID(),
    pricing: seller.pricing,
    createdAt: new Date(now).toISOString(),
    expiresAt: deps.expiresAfterMs === undefined ? null : new Date(now + deps.expiresAfterMs).toISOString(),
    version: 1,
    status: 'CREATED',
    cancelledAt: null,
  };
}

async function replay(
  { db }: OrderDependencies,
  sellerId: string,
  key: string,
  requestDigest: Buffer,
): Promise<CreatedOrder | undefined> {
  const claimed = await findIdempotencyKey(db, sellerId, key);
  if (!claimed) return undefined;
  if (!claimed.requestDigest.equals(requestDigest)) {
    throw new Problem('idempotency_key_reused', 'This Idempotency-Key was used for an order with another body.');
  }
  return { body: claimed.response, replayed: true };
}

function stillRunning(): Problem {
  return new Problem(
    'idempotency_key_in_progress',
    'The first request with this Idempotency-Key has not ended yet; repeating the call is safe.',
    { headers: { 'Retry-After': '1' } },
  );
}

async function throwIfTaken({ db, checkoutBaseUrl }: OrderDependencies, sellerId: string, reference: string) {
  const holder = await findOrderByReference(db, sellerId, reference);
  if (!holder) return;
  const detail = 'Another order of yours that is not UNSUCCESSFUL has this reference.';
  throw new Problem('duplicate_reference', detail, {
    errors: [{ code: 'duplicate_reference', detail, pointer: '/data/reference' }],
    members: { order_id: holder.id, order_url: orderUrl(holder, checkoutBaseUrl) },
  });
}
