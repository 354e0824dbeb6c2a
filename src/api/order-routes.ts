import type { Readable } from 'node:stream';
import Router from '@koa/router';
import { toOrderBody } from '../contracts/order-mapper';
import type { OrderRules } from '../contracts/fields';
import type { StoredOrder } from '../db/orders';
import type { Seller } from '../db/sellers';
import { type Order, settlementOf } from '../domain/order';
import {
  createOrderRequestSchema,
  idempotencyKeySchema,
  orderListQuerySchema,
  progressRequestSchema,
  repaymentExampleQuerySchema,
  simulateRequestSchema,
} from '../contracts/request-schemas';
import { timelineQuerySchema } from '../contracts/webhook-request-schemas';
import { Problem } from '../contracts/problem';
import { createOrder, replayOrder } from '../orders/create-order';
import { changeOrder, simulateProgress, versionDiffers } from '../orders/change-order';
import type { OrderDependencies } from '../orders/dependencies';
import { exportOrders, listOrders } from '../orders/list-orders';
import { requireOrderByPayLink, askWorkflow, requireOrder } from '../orders/read-order';
import { retrieveTimeline } from '../orders/timeline';
import { validate } from '../contracts/field-errors';
import { type Authenticate, CSV_COST, listCost, sellerOf } from './authenticate';
import { type BodyReaders, validateQuery } from './input';
import { type Context, type RouteMiddleware, type State } from './context';
import { idOf } from './paths';

/** The example depends on the date. */
const REPAYMENT_EXAMPLE_AGE_S = 300;

export function orderRoutes(
  basePath: string,
  deps: OrderDependencies,
  authenticate: Authenticate,
  { jsonBody }: BodyReaders,
  limitLists: RouteMiddleware,
): Router<State> {
  const router = new Router<State>({ prefix: basePath, sensitive: true });
  const seller = authenticate('seller');
  const checkout = authenticate('checkout');
  const createSchemaFor = createSchemas(deps.rules);
  const repaymentSchema = repaymentExampleQuerySchema(deps.rules);

  const sendOrder = (ctx: Context, order: Order): void => {
    ctx.set('ETag', etagOf(order));
    ctx.body = { data: toOrderBody(order, deps.checkoutBaseUrl) };
  };

  /**
   * Sends the order as it is now. A caller that has the row's state already gets a 304, without a call to
   * Temporal.
   */
  const sendCurrent = async (ctx: Context, stored: StoredOrder): Promise<void> => {
    ctx.state.orderId = stored.id;
    const wanted = ifMatchOf(ctx);
    ctx.set('Order-Source', 'snapshot');
    if (!wanted && respondNotModified(ctx, stored)) return;
    const { order, readFrom } = await askWorkflow(deps, stored);
    ctx.set('Order-Source', readFrom);
    if (wanted?.includes(order.version) === false) {
      ctx.remove('Order-Source');
      throw versionDiffers(order.version);
    }
    if (!respondNotModified(ctx, order)) sendOrder(ctx, order);
  };

  /** The row of the order that the path names. */
  const orderOf = async (ctx: Context, sellerId?: string): Promise<StoredOrder> => {
    const stored = await requireOrder(deps, idOf(ctx, 'orderId'), sellerId);
    ctx.state.orderId = stored.id;
    return stored;
  };

  const retrieve = async (ctx: Context): Promise<void> => {
    await sendCurrent(ctx, await orderOf(ctx, sellerOf(ctx).id));
  };

  const cancel = async (ctx: Context): Promise<void> => {
    const stored = await orderOf(ctx, sellerOf(ctx).id);
    const by = { actor: 'seller', channel: 'api', reason: null, ifVersion: ifMatchOf(ctx) } as const;
    sendOrder(ctx, await changeOrder(deps, stored, { event: 'cancel', ...by }));
  };

  // The router matches these paths with and without a trailing slash.
  router.post('/seller/:sellerId/order', seller, jsonBody, async (ctx) => {
    const account = sellerOf(ctx);
    const sent = ctx.request.body;
    const key = idempotencyKeyOf(ctx);
    const idempotency = key === undefined ? undefined : { key, body: sent };
    const { body, replayed } =
      (await replayOrder(deps, account, idempotency)) ??
      (await createOrder(deps, account, validate(createSchemaFor(account), sent).data, idempotency));
    ctx.state.orderId = body.id;
    ctx.status = 201;
    ctx.set('Location', `${basePath}/order/${body.id}/`);
    if (replayed) ctx.set('Idempotency-Replayed', 'true');
    ctx.body = { data: body };
  });
  const orderListCost = (ctx: Parameters<typeof listCost>[0]) => (wantsCsv(ctx) ? CSV_COST : listCost(ctx));
  router.get('/seller/:sellerId/order', authenticate('seller', orderListCost), limitLists, async (ctx) => {
    const { id } = sellerOf(ctx);
    const query = validateQuery(orderListQuerySchema, ctx.query);
    if (wantsCsv(ctx)) sendCsv(ctx, await exportOrders(deps, id, query, ctx.state.log));
    else ctx.body = await listOrders(deps, id, query);
  });
  router.get('/order/:orderId', seller, retrieve);
  router.delete('/order/:orderId', seller, cancel);
  router.get('/seller/:sellerId/order/:orderId', seller, retrieve);
  router.delete('/seller/:sellerId/order/:orderId', seller, cancel);

  router.get('/order/:orderId/timeline', authenticate('seller', listCost), limitLists, async (ctx) => {
    const query = validateQuery(timelineQuerySchema, ctx.query);
    ctx.body = await retrieveTimeline(deps, idOf(ctx, 'orderId'), sellerOf(ctx).id, query);
    ctx.state.orderId = idOf(ctx, 'orderId');
  });
  router.get('/seller/:sellerId/connection_check', seller, (ctx) => {
    const { id, name } = sellerOf(ctx);
    ctx.body = { data: { seller_id: id, seller_name: name } };
  });

  router.get('/seller/:sellerId/repayment_example', authenticate('none'), async (ctx) => {
    const { amount } = validateQuery(repaymentSchema, ctx.query);
    const data = await deps.repaymentExample((ctx.params.sellerId ?? '').toLowerCase(), amount);
    ctx.set('Cache-Control', `public, max-age=${REPAYMENT_EXAMPLE_AGE_S}`);
    ctx.body = { data };
  });

  router.get('/pay_link/:payLinkId', checkout, async (ctx) => {
    await sendCurrent(ctx, await requireOrderByPayLink(deps, idOf(ctx, 'payLinkId')));
  });

  router.post('/order/:orderId/progress', checkout, jsonBody, async (ctx) => {
    const progress = eventOf(ctx, progressRequestSchema);
    const stored = await orderOf(ctx);
    const by = { actor: 'checkout', channel: 'api', ifVersion: ifMatchOf(ctx) } as const;
    sendOrder(ctx, await changeOrder(deps, stored, { ...progress, ...by }));
  });

  router.post('/order/:orderId/simulate', seller, jsonBody, async (ctx) => {
    const progress = eventOf(ctx, simulateRequestSchema);
    const stored = await orderOf(ctx, sellerOf(ctx).id);
    sendOrder(ctx, await simulateProgress(deps, stored, { ...progress, channel: 'api', ifVersion: ifMatchOf(ctx) }));
  });

  return router;
}

const wantsCsv = (ctx: Pick<Context, 'accepts'>): boolean => ctx.accepts('application/json', 'text/csv') === 'text/csv';

/**
 * Sends CSV as it is read. If a later piece cannot be read, the connection is closed before the end of the
 * chunked body, which every client reports: there is no other sign that lines are missing.
 */
function sendCsv(ctx: Context, csv: Readable): void {
  ctx.set('Content-Disposition', 'attachment; filename="orders.csv"');
  ctx.type = 'text/csv; charset=utf-8; header=present';
  ctx.body = csv;
}

/** A schema for each pair of account settings: to make one takes longer than to check a request. */
function createSchemas(rules: OrderRules) {
  const schemas = new Map<string, ReturnType<typeof createOrderRequestSchema>>();
  return ({ maxOrderAmountPence, defaultRedirectUrl }: Seller) => {
    const account = { maxAmountPence: maxOrderAmountPence, needsRedirectUrl: defaultRedirectUrl === null };
    const key = JSON.stringify(account);
    const schema = schemas.get(key) ?? createOrderRequestSchema({ ...rules, account });
    schemas.set(key, schema);
    return schema;
  };
}

/** A settlement comes without a new version. */
const etagOf = (order: Order): string => `"${order.version}${settlementOf(order) ? '-settled' : ''}"`;

/** The versions that If-Match names; undefined without the header, or if it names any. A weak ETag never matches. */
function ifMatchOf(ctx: Context): number[] | undefined {
  const header = ctx.get('If-Match').trim();
  if (header === '' || header === '*') return undefined;
  return header.split(',').flatMap((etag) => {
    const [, version] = /^"(\d{1,9})(?:-settled)?"$/.exec(etag.trim()) ?? [];
    return version === undefined ? [] : [Number(version)];
  });
}

/**
 * Sets the `ETag`, and the status 304 if the caller has this version. All other parts change only if a row is
 * rebuilt after a restore, or the operator changes CHECKOUT_BASE_URL.
 * @returns true if the response is a 304
 */
function respondNotModified(ctx: Context, order: Order): boolean {
  const etag = etagOf(order);
  ctx.set('ETag', etag);
  // Not `ctx.fresh`: fetch sends `Cache-Control: no-cache` with If-None-Match, which disables it.
  const known = ctx
    .get('If-None-Match')
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''));
  const isKnownVersion = known.includes(etag) || known.includes('*');
  if (isKnownVersion) ctx.status = 304;
  return isKnownVersion;
}

function eventOf(ctx: Context, schema: typeof progressRequestSchema | typeof simulateRequestSchema) {
  const { event, reason = null, payment_term: paymentTerm } = validate(schema, ctx.request.body).data;
  return { event, reason, paymentTerm };
}

function idempotencyKeyOf(ctx: Context): string | undefined {
  const { data, error } = idempotencyKeySchema.safeParse(ctx.headers['idempotency-key']);
  if (error) throw new Problem('invalid_idempotency_key');
  return data;
}
