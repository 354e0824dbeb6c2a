import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { CreatedOrderBody, ListedOrderBody, OrderBody } from '../contracts/order-schemas';
import type { createOrderRequestSchema, orderListQuerySchema } from '../contracts/request-schemas';
import type {
  RotatedSecretBody,
  TimelineEntryBody,
  WebhookEventBody,
  WebhookTestResult,
} from '../contracts/webhook-log-schemas';
import type { WebhookState } from '../domain/webhook';
import type { Answer, Transport } from './transport';
import { createTransport } from './transport';

const BASE_PATH = '/api/lending/edge/ecommerce';
/** The service itself may take 15 s and Postgres's 5 s before it answers 503, which is to be heard. */
const TIMEOUT_MS = 30_000;

/** What an order is created with: `amount` in pounds; `redirect_url` is needed unless the account has a default. */
export type NewOrder = z.input<ReturnType<typeof createOrderRequestSchema>>['data'];

export type CreatedOrder = CreatedOrderBody & {
  /** An earlier call with the same key made it, and this is how it was then: `retrieve` tells how it is now. */
  replayed: boolean;
};

export interface Page<T> {
  data: T[];
  /** Asks for the next page; null on the last one. */
  next_cursor: string | null;
}

export interface PageQuery {
  /** How many, 1 to 100; 25 unless said. */
  limit?: number;
  cursor?: string;
}

export type OrderListQuery = PageQuery &
  Pick<z.input<typeof orderListQuerySchema>, 'status' | 'reference' | 'created_from' | 'created_before'>;

export interface ClientOptions {
  /** Such as `https://orders.example`. */
  baseUrl: string;
  /** `sk_…` */
  apiKey: string;
  sellerId: string;
  /** For each attempt, in ms; 30,000 unless said. */
  timeoutMs?: number;
  /** Attempts after the first; 3 unless said. */
  maxRetries?: number;
}

/**
 * The calls a seller's shop makes. Each is made again where that is safe and the trouble is one that passes: no
 * connection, no answer in time, 408, 429, 5xx.
 * @throws (each call) OrderServiceError for a refusal, ConnectionError where no answer came
 */
export type OrderServiceClient = ReturnType<typeof createClient>;

/** @throws TypeError for a baseUrl or an apiKey that cannot be one */
export function createClient({ baseUrl, apiKey, sellerId, timeoutMs = TIMEOUT_MS, maxRetries = 3 }: ClientOptions) {
  if (!isBaseUrl(baseUrl)) throw new TypeError('baseUrl must be an http(s) URL such as https://orders.example');
  // Told without the key, which would stand in what Headers say of it.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey must be printable ASCII without blanks');
  const { origin, pathname } = new URL(baseUrl);
  const url = origin + pathname.replace(/\/+$/, '') + BASE_PATH;
  const call = createTransport({ url, apiKey, timeoutMs, maxRetries });
  const seller = `/seller/${encodeURIComponent(sellerId)}`;
  const order = (id: string): string => `/order/${encodeURIComponent(id)}`;

  return {
    /**
     * Creates an order, once however often the call is made again: it carries an Idempotency-Key.
     * @param idempotencyKey one for each attempt at payment, kept with the cart: a call after a crash of yours gets the
     * same order too, and a cart whose order has come to nothing gets a new one by a new key
     */
    async create(
      newOrder: NewOrder,
      { idempotencyKey = randomUUID() }: { idempotencyKey?: string } = {},
    ): Promise<CreatedOrder> {
      const { body, headers } = await call<{ data: CreatedOrderBody }>({
        method: 'POST',
        path: `${seller}/order/`,
        body: { data: newOrder },
        headers: { 'Idempotency-Key': idempotencyKey },
        repeatable: true,
      });
      return { ...body.data, replayed: headers.has('Idempotency-Replayed') };
    },

    retrieve: (orderId: string): Promise<OrderBody> => dataOf(get(call, `${order(orderId)}/`)),

    /** An order that is cancelled already stays so. A SUCCESSFUL one is refused: `order_not_cancellable`. */
    cancel: (orderId: string): Promise<OrderBody> =>
      dataOf(call({ method: 'DELETE', path: `${order(orderId)}/`, repeatable: true })),

    /** One page of the orders, the newest first. */
    list: (query: OrderListQuery = {}): Promise<Page<ListedOrderBody>> => bodyOf(get(call, `${seller}/order/`, query)),

    /** All orders that a query finds, the newest first, page after page as they are asked for. */
    listAll: (query: OrderListQuery = {}): AsyncGenerator<ListedOrderBody> =>
      everyItem((cursor) => bodyOf(get(call, `${seller}/order/`, { ...query, ...cursor }))),

    /** What happened to an order, the oldest first: every change, every attempt at a webhook. */
    timeline: (orderId: string, query: PageQuery = {}): Promise<Page<TimelineEntryBody>> =>
      bodyOf(get(call, `${order(orderId)}/timeline/`, query)),

    listWebhooks: (query: PageQuery & { state?: WebhookState } = {}): Promise<Page<WebhookEventBody>> =>
      bodyOf(get(call, `${seller}/webhook_event/`, query)),

    /** Has a webhook sent once more; the timeline shows how it went. */
    resendWebhook: (webhookId: string): Promise<WebhookEventBody> =>
      dataOf(
        call({ method: 'POST', path: `/webhook_event/${encodeURIComponent(webhookId)}/resend/`, repeatable: true }),
      ),

    /** Sends a `webhook.test` to an address, and says what it met. */
    testWebhook: (address: string): Promise<WebhookTestResult> =>
      dataOf(
        call({ method: 'POST', path: `${seller}/webhook_test/`, body: { data: { url: address } }, repeatable: false }),
      ),

    /** A new secret, shown this once. Should the answer be lost, rotate again. */
    rotateWebhookSecret: (options: { overlapSeconds?: number } = {}): Promise<RotatedSecretBody> =>
      dataOf(
        call({
          method: 'POST',
          path: `${seller}/webhook_secret/rotate/`,
          body: { data: { overlap_seconds: options.overlapSeconds } },
          repeatable: false,
        }),
      ),

    /** Whether key and seller belong together. */
    checkConnection: (): Promise<{ seller_id: string; seller_name: string }> =>
      dataOf(get(call, `${seller}/connection_check/`)),
  };
}

/** Nothing stands behind the path, where the calls' own goes; and a user's password would stand in errors. */
function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
}

function get<T>(call: Transport, path: string, query: object = {}): Promise<Answer<T>> {
  return call({ method: 'GET', path, query, repeatable: true });
}

async function bodyOf<T>(answer: Promise<Answer<T>>): Promise<T> {
  return (await answer).body;
}

async function dataOf<T>(answer: Promise<Answer<{ data: T }>>): Promise<T> {
  return (await answer).body.data;
}

async function* everyItem<T>(pageBehind: (cursor: { cursor?: string }) => Promise<Page<T>>): AsyncGenerator<T> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await pageBehind(cursor === undefined ? {} : { cursor });
    yield* page.data;
    cursor = page.next_cursor;
  }
}
