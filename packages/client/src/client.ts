import { randomUUID } from 'node:crypto';
import type {
  AccountWebhookEndpoint,
  CreatedOrderBody,
  NewAccountWebhookEndpoint,
  NewOrder,
  NewPortalSession,
  NewWebhookHeaders,
  Order,
  OrderFilter,
  PaymentTerm,
  PortalSession,
  RepaymentExample,
  ResentWebhooks,
  RotatedWebhookSecret,
  Seller,
  SignedWebhook,
  SimulatedEvent,
  TimelineEntry,
  WebhookEvent,
  WebhookFilter,
  WebhookHeaders,
  WebhookSelection,
  WebhookTestResult,
} from './contract-types';
import { type Call, type Method, createTransport } from './transport';

const BASE_PATH = '/api/lending/edge/ecommerce';
/** Longer than the 28 s that a webhook test may take. Almost all other calls get their response sooner. */
const TIMEOUT_MS = 30_000;

export type CreatedOrder = CreatedOrderBody & {
  /** True if an earlier call with the same key created the order. Use `retrieve` to get its current state. */
  replayed: boolean;
};

export interface Page<T> {
  data: T[];
  /** Pass it as `cursor` to get the next page. Null on the last page. */
  next_cursor: string | null;
}

export interface PageQuery {
  /** Page size, 1 to 100. Default: 25. */
  limit?: number;
  cursor?: string;
}

export type OrderListQuery = PageQuery & OrderFilter;

export interface ClientOptions {
  /** For example `https://orders.example`. */
  baseUrl: string;
  /** The seller's API key, `sk_…`. */
  apiKey: string;
  /** The seller's UUID. */
  sellerId: string;
  /** Timeout of each attempt in ms. Default: 30,000. A call with its retries takes at most 10 s longer. */
  timeoutMs?: number;
  /** Attempts after the first, if they begin within 10 s after the call. Default: 3. */
  maxRetries?: number;
}

/**
 * The API calls of a seller's shop. If it is safe, a call is retried after a temporary failure: no response, 408, 429
 * or 5xx. No retry begins later than 10 s after the call, so a call takes at most `timeoutMs` and 10 s: 40 s by
 * default.
 * @throws (each call) OrderServiceError for an error response, ConnectionError if there is no response
 */
export type OrderServiceClient = ReturnType<typeof createClient>;

/** @throws TypeError if `baseUrl`, `apiKey` or `sellerId` is malformed */
export function createClient({ baseUrl, apiKey, sellerId, timeoutMs = TIMEOUT_MS, maxRetries = 3 }: ClientOptions) {
  if (!isBaseUrl(baseUrl)) throw new TypeError('baseUrl must be an http(s) URL such as https://orders.example');
  // The error that `Headers` throws contains the key. This one does not.
  for (const [name, value] of Object.entries<string | undefined>({ apiKey, sellerId })) {
    if (!value) throw new TypeError(`${name} is missing`);
    if (!/^[\x21-\x7e]+$/.test(value)) {
      throw new TypeError(`${name} must be printable ASCII without spaces; the operator of the service issues it`);
    }
  }
  const { origin, pathname } = new URL(baseUrl);
  const apiUrl = origin + pathname.replace(/\/+$/, '') + BASE_PATH;
  const call = createTransport(apiUrl, apiKey, timeoutMs, maxRetries);
  const data = async <T>(method: Method, path: string, options?: Call): Promise<T> =>
    (await call<{ data: T }>(method, path, options)).body.data;
  const page = async <T>(path: string, query: object): Promise<Page<T>> =>
    (await call<Page<T>>('GET', path, { query })).body;
  const seller = `/seller/${encodeURIComponent(sellerId)}`;
  const order = (id: string): string => `/order/${encodeURIComponent(id)}`;
  const webhook = (id: string): string => `/webhook_event/${encodeURIComponent(id)}`;

  return {
    /**
     * Creates an order. Retries never create a second one, because every call sends an Idempotency-Key.
     * @param idempotencyKey store one with the cart for each payment attempt, so that a call after a crash returns the
     * same order. Use a new key if the cart changes or its order is UNSUCCESSFUL. Default: a random UUID
     */
    async create(
      newOrder: NewOrder,
      { idempotencyKey = randomUUID() }: { idempotencyKey?: string } = {},
    ): Promise<CreatedOrder> {
      const options = { body: { data: newOrder }, headers: { 'Idempotency-Key': idempotencyKey } };
      const { body, headers } = await call<{ data: CreatedOrderBody }>('POST', `${seller}/order/`, options);
      return { ...body.data, replayed: headers.has('Idempotency-Replayed') };
    },

    retrieve: (orderId: string): Promise<Order> => data('GET', `${order(orderId)}/`),

    /** Cancelling again changes nothing. A SUCCESSFUL order causes the error `order_not_cancellable`. */
    cancel: (orderId: string): Promise<Order> => data('DELETE', `${order(orderId)}/`),

    /**
     * Moves an order of a sandbox account as its customer's checkout would, for automated tests: `signup_started`, then
     * `approved`, then `completed`. A live account causes the error `sandbox_only`.
     */
    simulate: (
      orderId: string,
      event: SimulatedEvent,
      { reason, paymentTerm }: { reason?: string; paymentTerm?: PaymentTerm } = {},
    ): Promise<Order> =>
      data('POST', `${order(orderId)}/simulate/`, { body: { data: { event, reason, payment_term: paymentTerm } } }),

    /** Returns one page of orders, newest first. */
    list: (query: OrderListQuery = {}): Promise<Page<Order>> => page(`${seller}/order/`, query),

    /** Iterates over all matching orders, newest first. Each page is requested when the iteration reaches it. */
    listAll: (query: OrderListQuery = {}): AsyncGenerator<Order> =>
      everyItem((cursor) => page(`${seller}/order/`, { ...query, ...cursor })),

    /** Returns one page of the order's timeline, oldest first: changes, refused signals and webhook attempts. */
    timeline: (orderId: string, query: PageQuery = {}): Promise<Page<TimelineEntry>> =>
      page(`${order(orderId)}/timeline/`, query),

    /** Returns one page of webhooks, newest first. */
    listWebhooks: (query: PageQuery & WebhookFilter = {}): Promise<Page<WebhookEvent>> =>
      page(`${seller}/webhook_event/`, query),

    /** Returns a webhook with the body and headers, signed now, that the service sends. */
    retrieveWebhook: (webhookId: string): Promise<SignedWebhook> => data('GET', `${webhook(webhookId)}/`),

    /** Requests a resend, which can arrive after a newer webhook. The order's timeline shows the result. */
    resendWebhook: (webhookId: string): Promise<WebhookEvent> => data('POST', `${webhook(webhookId)}/resend/`),

    /**
     * Requests a resend of all exhausted webhooks (`{ state: 'exhausted' }`), of an order's, or of all since a time. Until it has
     * ended, another one causes the error `resend_in_progress`: after a ConnectionError, that may be this one.
     */
    resendWebhooks: (selection: WebhookSelection): Promise<ResentWebhooks> =>
      data('POST', `${seller}/webhook_event/resend/`, { body: { data: selection }, idempotent: false }),

    /** Returns the account's own webhook URL, and the state of the endpoints that were called lately. */
    retrieveWebhookEndpoint: (): Promise<AccountWebhookEndpoint> => data('GET', `${seller}/webhook_endpoint/`),

    /** Sets the account's own webhook URL and the addresses that it replaces. Later attempts use it, resends included. */
    setWebhookEndpoint: (endpoint: NewAccountWebhookEndpoint): Promise<AccountWebhookEndpoint> =>
      data('PUT', `${seller}/webhook_endpoint/`, { body: { data: endpoint } }),

    /** Returns a link to the seller's page, for a person who is signed in to your back office. */
    createPortalSession: (session: NewPortalSession = {}): Promise<PortalSession> =>
      data('POST', `${seller}/portal_session/`, { body: { data: session }, idempotent: false }),

    /** Replaces the static headers of webhooks. An empty array removes them. No call returns their values. */
    setWebhookHeaders: (webhookHeaders: NewWebhookHeaders): Promise<WebhookHeaders> =>
      data('PUT', `${seller}/webhook_headers/`, { body: { data: webhookHeaders } }),

    /** Sends a `webhook.test` webhook to a URL and returns the result. */
    testWebhook: (url: string): Promise<WebhookTestResult> =>
      data('POST', `${seller}/webhook_test/`, { body: { data: { url } }, idempotent: false }),

    /** Creates a new secret, which is shown only once. If the response is lost, rotate again. */
    rotateWebhookSecret: ({ overlapSeconds }: { overlapSeconds?: number } = {}): Promise<RotatedWebhookSecret> =>
      data('POST', `${seller}/webhook_secret/rotate/`, {
        body: { data: { overlap_seconds: overlapSeconds } },
        idempotent: false,
      }),

    /**
     * Returns the repayments of an amount, for product and cart pages. If customers of the account cannot pay later, it
     * causes the error `not_found`.
     * @param amount in pounds; rounded to pence
     */
    repaymentExample: (amount: number): Promise<RepaymentExample> =>
      data('GET', `${seller}/repayment_example/`, { query: { amount: amount.toFixed(2) } }),

    /** Checks that the key belongs to the seller. */
    checkConnection: (): Promise<Seller> => data('GET', `${seller}/connection_check/`),
  };
}

/** No query or fragment, because the client appends paths. No user name or password, because errors show the URL. */
function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
}

export async function* everyItem<T>(nextPage: (cursor: { cursor?: string }) => Promise<Page<T>>): AsyncGenerator<T> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await nextPage(cursor === undefined ? {} : { cursor });
    yield* page.data;
    cursor = page.next_cursor;
  }
}
