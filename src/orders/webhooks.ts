import { Problem, unavailable } from '../contracts/problem';
import type { ResendWebhooksRequest, WebhookListQuery } from '../contracts/webhook-request-schemas';
import { describeFailure } from '../contracts/webhook-mapper';
import type {
  SignedWebhookBody,
  WebhookEndpointBody,
  WebhookEventBody,
  WebhookSelectionBody,
} from '../contracts/webhook-schemas';
import { readClock, readListEnd } from '../db/clock';
import { findOrder } from '../db/orders';
import { findWebhook, findWebhooks, type ListedWebhook } from '../db/find-webhooks';
import type { Db } from '../db/pool';
import { findCredentials } from '../db/secrets';
import { type WebhookEndpoint, findEndpoints } from '../db/webhook-endpoints';
import { originOf } from '../domain/webhook';
import { AlreadyRunning } from '../temporal/order-workflow-client';
import { signWebhook, webhookHeaders } from '../webhooks/sign';
import type { OrderDependencies } from './dependencies';
import { type Page, toPage, unknownCursor } from './list-page';
import { isUuid } from '../domain/text';
import { notFound, requireOrder } from './read-order';

/**
 * Lists a seller's webhooks, newest first.
 * @throws Problem `invalid_request` if the cursor is not one of the seller's webhooks
 */
export async function listWebhooks(
  deps: OrderDependencies,
  sellerId: string,
  { limit, cursor, state, created_from: since }: WebhookListQuery,
): Promise<Page<WebhookEventBody>> {
  const { db } = deps;
  const until = since === undefined ? undefined : await readListEnd(db);
  const rows = await findWebhooks(db, { sellerId, state, since, until, after: cursor }, limit + 1);
  if (rows.length === 0 && cursor !== undefined && !(await findWebhook(db, cursor, sellerId))) {
    throw unknownCursor();
  }
  const page = toPage(rows, limit, ({ id }) => id);
  return { ...page, data: await describeWebhooks(deps, page.data) };
}

/**
 * Retrieves a webhook as an attempt would send it now, so that its seller can see it, and forward it to a machine that
 * the service cannot reach.
 * @throws Problem `not_found`, `webhook_content_deleted`
 */
export async function retrieveWebhook(
  deps: OrderDependencies,
  webhookId: string,
  sellerId: string,
): Promise<SignedWebhookBody> {
  const { db, keys } = deps;
  const webhook = await requireContent(db, webhookId, sellerId);
  const { body, traceparent } = webhook;
  const timestamp = Math.floor((await readClock(db)).getTime() / 1000);
  const { secrets } = await findCredentials(db, keys, sellerId);
  return {
    ...(await describeWebhook(deps, webhook)),
    request_headers: {
      ...webhookHeaders(webhookId, timestamp, signWebhook(secrets, webhookId, timestamp, body)),
      ...(traceparent !== null && { traceparent }),
    },
    request_body: body,
  };
}

/**
 * Finds a webhook that can be sent.
 * @param sellerId if given, only this seller's webhook is found
 * @throws Problem `not_found`, `webhook_content_deleted`
 */
export async function requireContent(db: Db, webhookId: string, sellerId?: string) {
  const webhook = isUuid(webhookId) ? await findWebhook(db, webhookId, sellerId) : undefined;
  if (!webhook) throw notFound('webhook', sellerId);
  const { body, contentDeletedAt } = webhook;
  if (body !== null) return { ...webhook, body };
  throw new Problem(
    'webhook_content_deleted',
    `The body and the attempts of this webhook were deleted at ${contentDeletedAt?.toISOString()}. It cannot be resent.`,
  );
}

/**
 * Requests a resend of a seller's webhook.
 * @returns the webhook as it is before the resend
 * @throws Problem `not_found`, `webhook_content_deleted`, `no_webhook_url`, `service_unavailable`
 */
export async function resendWebhook(
  deps: OrderDependencies,
  webhookId: string,
  sellerId: string,
): Promise<WebhookEventBody> {
  const webhook = await requireContent(deps.db, webhookId, sellerId);
  if (webhook.url === null) throw new Problem('no_webhook_url');
  const isRequested = await requestResend(deps, webhook).catch((error: unknown) => {
    throw resendNotRequested(error);
  });
  if (!isRequested) throw resendNotRequested(new Error('the row waits for reconcile'));
  return describeWebhook(deps, webhook);
}

/**
 * Has the workflow of a webhook's order send the webhook once more.
 * @returns false if the order waits for `reconcile`: a new run would begin without the changes that its row lacks
 */
export async function requestResend(
  { db, workflows }: Pick<OrderDependencies, 'db' | 'workflows'>,
  { id, orderId }: Pick<ListedWebhook, 'id' | 'orderId'>,
): Promise<boolean> {
  const request = async (): Promise<boolean> => {
    const order = await findOrder(db, orderId);
    return order?.behindVersion === null && workflows.resendWebhook(order, id);
  };
  // The order may complete between the read and the request: the second read finds it closed.
  return (await request()) || request();
}

/**
 * Resends many of a seller's webhooks, by a workflow of its own. A seller has one at a time.
 * @throws Problem `not_found` for the order, `resend_in_progress`, `service_unavailable`
 */
export async function resendWebhooks(
  { db, workflows }: OrderDependencies,
  sellerId: string,
  { state, order_id: orderId, created_from: since, created_before }: ResendWebhooksRequest,
): Promise<WebhookSelectionBody> {
  if (orderId !== undefined) await requireOrder({ db }, orderId, sellerId);
  // Later webhooks, and those that it sends itself, are not part of it.
  const now = (await readClock(db)).toISOString();
  const until = created_before !== undefined && created_before < now ? created_before : now;
  try {
    await workflows.resendWebhooks({ sellerId, state, since, until, ...(orderId && { orderIds: [orderId] }) });
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw resendNotRequested(error);
    throw new Problem('resend_in_progress');
  }
  return { state: state ?? null, order_id: orderId ?? null, created_from: since ?? null, created_before: until };
}

const resendNotRequested = (cause: unknown): Problem =>
  unavailable('The resend could not be requested. Repeating the call is safe.', cause);

type DescribeDependencies = Pick<OrderDependencies, 'db' | 'breaker'>;

/** Webhooks as the API shows them, with the state of their endpoints. */
export async function describeWebhooks(
  { db, breaker }: DescribeDependencies,
  webhooks: readonly ListedWebhook[],
): Promise<WebhookEventBody[]> {
  const called = webhooks.map(({ sellerId, url }) => ({ sellerId, origin: originOf(url ?? '') }));
  const found = await findEndpoints(db, breaker, called);
  const endpoints = new Map(found.map((endpoint) => [`${endpoint.sellerId} ${endpoint.origin}`, endpoint]));
  return webhooks.map((webhook) => {
    const endpoint = endpoints.get(`${webhook.sellerId} ${originOf(webhook.url ?? '')}`);
    return toWebhookEventBody(webhook, endpoint && toEndpointBody(endpoint));
  });
}

async function describeWebhook(deps: DescribeDependencies, webhook: ListedWebhook): Promise<WebhookEventBody> {
  const [body] = await describeWebhooks(deps, [webhook]);
  if (!body) throw new Error('a webhook has no description');
  return body;
}

export function toEndpointBody({
  origin,
  state,
  since,
  lastFailure,
  nextProbeAt,
}: WebhookEndpoint): WebhookEndpointBody {
  return {
    origin,
    state,
    since: since?.toISOString() ?? null,
    last_error: lastFailure && describeFailure(lastFailure),
    next_probe_at: nextProbeAt?.toISOString() ?? null,
  };
}

function toWebhookEventBody(webhook: ListedWebhook, endpoint: WebhookEndpointBody | undefined): WebhookEventBody {
  return {
    id: webhook.id,
    type: 'order.status_changed',
    order_id: webhook.orderId,
    reference: webhook.reference,
    sequence: webhook.sequence,
    state: webhook.state,
    attempts: webhook.attempts,
    created_at: webhook.createdAt.toISOString(),
    next_attempt_at: webhook.nextAttemptAt?.toISOString() ?? null,
    last_error: lastErrorOf(webhook, endpoint),
    url: webhook.url,
    endpoint: endpoint ?? null,
    content_deleted_at: webhook.contentDeletedAt?.toISOString() ?? null,
  };
}

function lastErrorOf(
  { state, url, isDisabled, lastAttempt, isAfter, contentDeletedAt }: ListedWebhook,
  endpoint: WebhookEndpointBody | undefined,
): string | null {
  if (state === 'delivered' || contentDeletedAt !== null) return null;
  if (url === null) return 'There is no URL: the order names no webhook_url, and the account has no webhook endpoint.';
  if (lastAttempt && lastAttempt.error !== null) return describeFailure(lastAttempt);
  if (isDisabled) return 'Not sent: the URL has answered 410 (gone) to a webhook of the order.';
  if (state !== 'pending') return 'Not sent yet: resend it.';
  if (isAfter !== null) return `Not sent yet: webhook ${isAfter} of the order is sent first.`;
  if (endpoint?.state !== 'not_answering') return null;
  return `Not sent yet: ${endpoint.origin} does not answer. ${endpoint.last_error ?? ''}`.trim();
}
