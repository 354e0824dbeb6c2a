import { simulateRequestSchema } from '../contracts/request-schemas';
import { toOrderBody } from '../contracts/order-mapper';
import type { OrderBody } from '../contracts/order-schemas';
import { isProblem } from '../contracts/problem';
import { formatPence, poundsToPence } from '../domain/money';
import { ORDER_STATUSES, PAYMENT_TERMS, isFinal } from '../domain/order';
import { isUuid } from '../domain/text';
import { changeOrder, simulateProgress } from '../orders/change-order';
import { validate } from '../contracts/field-errors';
import type { OrderDependencies } from '../orders/dependencies';
import { type OrderSelection, exportOrders, listOrders } from '../orders/list-orders';
import { summarizeOrders } from '../orders/overview';
import { askWorkflow, requireOrder } from '../orders/read-order';
import { retrieveTimeline } from '../orders/timeline';
import { retrieveWebhookEndpoint } from '../orders/webhook-endpoint';
import { listWebhooks } from '../orders/webhooks';
import type { Context, Routes, Visit } from './context';
import { formatTime, startOfDay } from './format';
import { cancelPage, orderPage } from './order';
import { type OrderSearch, ordersPage } from './orders-list';
import { type Attention, overviewPage } from './overview';

/** What open orders wait for, in words, by their ids. */
export type WaitingFor = (
  orderIds: readonly string[],
  format: (time: Date) => string,
) => Promise<ReadonlyMap<string, string>>;

const PAGE = 50;
/** A search by payment term goes back this far unless a date is given: no index has the term. */
const TERM_DAYS = 90;
/** Of a timeline that a page shows. The rest is in the API. */
const ENTRIES = 100;
const AMOUNT = /^£?\s*((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,2})?)$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The overview, the list of orders, and the page of an order. */
export function ordersPages({ page, action, file }: Routes, deps: OrderDependencies, waitingFor: WaitingFor): void {
  const read = async ({ session }: Visit, ctx: Context): Promise<OrderBody> => {
    const stored = await requireOrder(deps, ctx.params.orderId ?? '', session.seller.id);
    const { order } = await askWorkflow(deps, stored);
    return toOrderBody(order, deps.checkoutBaseUrl);
  };
  const waits = async (orders: readonly OrderBody[]) =>
    waitingFor(
      orders.filter(({ status }) => !isFinal(status)).map(({ id }) => id),
      formatTime,
    );

  page('/overview', async ({ session, path }) => {
    const [summary, attention] = await Promise.all([
      summarizeOrders(deps, session.seller.id),
      needsAttention(deps, session.seller.id),
    ]);
    return { title: 'Overview', content: overviewPage(path, summary, attention) };
  });

  page('/orders', async ({ session, path }, ctx) => {
    const search = searchOf(ctx.query);
    const cursor = textOf(ctx.query.cursor);
    const { orders, next, note } = await find(deps, session.seller.id, search, isUuid(cursor) ? cursor : undefined);
    const isContinued = cursor !== '';
    const view = { base: path, search, orders, cursor: next, isContinued, waitingFor: await waits(orders), note };
    return { title: 'Orders', content: ordersPage(view) };
  });

  file('/orders.csv', async ({ session }, ctx) => {
    const search = searchOf(ctx.query);
    const csv = await exportOrders(deps, session.seller.id, selectionOf(search), ctx.state.log);
    const name = ['orders', search.status.toLowerCase(), search.from, search.to].filter(Boolean).join('-');
    ctx.type = 'text/csv; charset=utf-8; header=present';
    ctx.set('Content-Disposition', `attachment; filename="${name}.csv"`);
    ctx.body = csv;
  });

  page('/orders/:orderId', async (visit, ctx) => {
    const order = await read(visit, ctx);
    const { data, next_cursor: next } = await retrieveTimeline(deps, order.id, visit.session.seller.id, {
      limit: ENTRIES,
      cursor: undefined,
    });
    const waitingForWhat = (await waits([order])).get(order.id);
    const view = { visit, order, timeline: data, hasMore: next !== null, waitingFor: waitingForWhat };
    return { title: `Order ${order.reference}`, content: orderPage(view) };
  });

  page('/orders/:orderId/cancel', async (visit, ctx) => {
    const order = await read(visit, ctx);
    return { title: `Cancel order ${order.reference}?`, content: cancelPage(visit, order) };
  });

  const cancel = { event: 'cancel', actor: 'seller', channel: 'portal', reason: null } as const;
  const stored = ({ session }: Visit, ctx: Context) => requireOrder(deps, ctx.params.orderId ?? '', session.seller.id);

  action('/orders/:orderId/cancel', 'order cancel', [], async (visit, _fields, ctx) => {
    const { id } = await changeOrder(deps, await stored(visit, ctx), cancel);
    return `/orders/${id}/?done=cancelled`;
  });

  action('/orders/:orderId/simulate', 'order simulate', ['event'], async (visit, { event }, ctx) => {
    const { data } = validate(simulateRequestSchema, { data: { event } });
    const progress = { event: data.event, reason: null, channel: 'portal' } as const;
    const { id } = await simulateProgress(deps, await stored(visit, ctx), progress);
    return `/orders/${id}/`;
  });
}

/** What the form sent; a value that it cannot send counts as empty. */
function searchOf(query: Context['query']): OrderSearch {
  const date = (name: string): string => (DATE.test(textOf(query[name])) ? textOf(query[name]) : '');
  return {
    q: textOf(query.q).trim().slice(0, 255),
    status: ORDER_STATUSES.find((one) => one === query.status) ?? '',
    term: PAYMENT_TERMS.find((one) => one === query.term) ?? '',
    by: query.by === 'completed' ? 'completed' : 'created',
    from: date('from'),
    to: date('to'),
  };
}

/** Postgres takes no NUL in a text. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value.replaceAll('\0', '') : '');

function selectionOf({ q, status, term, by, from, to }: OrderSearch): OrderSelection {
  const longAgo = new Date(Date.now() - TERM_DAYS * 86_400_000).toISOString();
  const since = from !== '' ? startOfDay(from) : term === '' ? undefined : longAgo;
  const before = to === '' ? undefined : startOfDay(to, { daysLater: 1 });
  return {
    limit: PAGE,
    ...(q !== '' && { reference: q.normalize('NFC') }),
    ...(status !== '' && { status }),
    ...(term !== '' && { payment_term: term }),
    ...(by === 'created' ? { created_from: since, created_before: before } : {}),
    ...(by === 'completed' ? { completed_from: since, completed_before: before } : {}),
  };
}

/** Finds what a person means by `q`: an order's id, else its reference, else its amount. */
async function find(deps: OrderDependencies, sellerId: string, search: OrderSearch, cursor: string | undefined) {
  const { q } = search;
  const list = async (selection: OrderSelection, note?: string) => {
    const { data, next_cursor: next } = await listOrders(deps, sellerId, { ...selection, cursor });
    return { orders: data, next, note };
  };
  const selection = selectionOf(search);
  if (isUuid(q)) {
    const order = await requireOrder(deps, q, sellerId).catch((error: unknown) => {
      if (!isProblem(error, 'not_found')) throw error;
    });
    return { orders: order ? [toOrderBody(order, deps.checkoutBaseUrl)] : [], next: null, note: undefined };
  }
  const isCut = search.term !== '' && search.from === '';
  const found = await list(
    selection,
    isCut ? `Only the last ${TERM_DAYS} days. Set the date “From” to see older orders.` : undefined,
  );
  const [, digits] = AMOUNT.exec(q) ?? [];
  const amount = digits === undefined ? undefined : poundsToPence(Number(digits.replaceAll(',', '')));
  if (found.orders.length > 0 || amount === undefined) return found;
  return list(
    { ...selection, reference: undefined, amount },
    `Orders of ${formatPence(amount)}: no order has this reference.`,
  );
}

/** Endpoints that do not accept webhooks, and webhooks of the last 30 days that wait for a reason or were given up. */
async function needsAttention(deps: OrderDependencies, sellerId: string): Promise<Attention[]> {
  const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
  const count = async (state: 'pending' | 'exhausted', text: string): Promise<Attention[]> => {
    const { data, next_cursor: next } = await listWebhooks(deps, sellerId, { limit: PAGE, state, created_from: since });
    const stuck = data.filter(({ last_error: error }) => error !== null).length;
    return stuck === 0
      ? []
      : [{ text: `${text}: ${next === null ? stuck : `more than ${PAGE}`}`, path: `/webhooks/?state=${state}` }];
  };
  const [{ endpoints }, ...counts] = await Promise.all([
    retrieveWebhookEndpoint(deps, sellerId),
    count('pending', 'Webhooks that wait after an error'),
    count('exhausted', 'Webhooks given up in the last 30 days'),
  ]);
  const failing = endpoints.filter(({ state }) => state === 'failing' || state === 'not_answering');
  return [
    ...failing.map(({ origin, state }) => ({
      text: `${origin} ${state === 'failing' ? 'answers webhooks with errors' : 'does not answer webhooks'}`,
      path: '/webhooks/',
    })),
    ...counts.flat(),
  ];
}
