import { randomUUID } from 'node:crypto';
import { Problem, unavailable } from '../contracts/problem';
import { toAttemptFields } from '../contracts/webhook-mapper';
import type { AccountAddressRequest, WebhookHeadersRequest } from '../contracts/webhook-request-schemas';
import type {
  AccountAddressBody,
  RotatedSecretBody,
  WebhookHeadersBody,
  WebhookTestResult,
} from '../contracts/webhook-schemas';
import type { Db } from '../db/pool';
import { isDatabaseUnavailable } from '../db/database-errors';
import { MAX_ACTIVE_SECRETS, findCredentials, rotateWebhookSecret, setStaticHeaders } from '../db/secrets';
import { findAccountAddress, listEndpoints, setAccountAddress } from '../db/webhook-endpoints';
import { insertWebhookTest } from '../db/webhook-events';
import type { KeyRing } from '../encryption/key-ring';
import { NothingChanged } from '../temporal/calls';
import { generateWebhookSecret } from '../webhooks/sign';
import type { OrderDependencies } from './dependencies';
import { notFound } from './read-order';
import { toEndpointBody } from './webhooks';

/**
 * Creates a new webhook secret for a seller. Older secrets continue to sign during the overlap.
 * @throws Problem `too_many_webhook_secrets`, or `service_unavailable` if the secret may have been created
 */
export async function rotateSecret(
  { db, keys }: { db: Db; keys: KeyRing },
  sellerId: string,
  overlapSeconds: number,
): Promise<RotatedSecretBody> {
  const secret = generateWebhookSecret();
  const rotating = rotateWebhookSecret(db, keys, sellerId, secret, overlapSeconds * 1000);
  const rotation = await rotating.catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) throw error;
    const outcome = 'The database is unavailable, and the outcome is unknown.';
    throw unavailable(`${outcome} Repeating the call may create another secret.`, error);
  });
  if (!rotation) throw notFound('seller');
  if (rotation.kind === 'too_many') throw tooManySecrets(rotation.possibleAt);
  return { webhook_secret: secret, previous_valid_until: rotation.previousValidUntil?.toISOString() ?? null };
}

/** Replaces the static headers of a seller's webhooks. @throws Problem `service_unavailable` if they may be replaced */
export async function setWebhookHeaders(
  { db, keys }: { db: Db; keys: KeyRing },
  sellerId: string,
  { origin, headers }: WebhookHeadersRequest,
): Promise<WebhookHeadersBody> {
  const byName = Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value]));
  await setStaticHeaders(db, keys, sellerId, { origin, headers: byName });
  return { origin, names: Object.keys(byName) };
}

/** The origin and the names of the static headers; undefined if they were never set. Values are not returned. */
export async function retrieveWebhookHeaders(
  { db, keys }: { db: Db; keys: KeyRing },
  sellerId: string,
): Promise<WebhookHeadersBody | undefined> {
  const { staticHeaders } = await findCredentials(db, keys, sellerId);
  return staticHeaders && { origin: staticHeaders.origin, names: Object.keys(staticHeaders.headers) };
}

/** The account's own webhook URL, what it replaces, and the endpoints that were called lately. */
export async function retrieveWebhookEndpoint(
  { db, breaker }: Pick<OrderDependencies, 'db' | 'breaker'>,
  sellerId: string,
): Promise<AccountAddressBody> {
  const { url, replaces } = await findAccountAddress(db, sellerId);
  const endpoints = await listEndpoints(db, breaker, sellerId);
  return { url, replaces: [...replaces], endpoints: endpoints.map(toEndpointBody) };
}

/** Sets them. Every later attempt uses them, also for webhooks that exist already. No order is edited. */
export async function setWebhookEndpoint(
  deps: Pick<OrderDependencies, 'db' | 'breaker'>,
  sellerId: string,
  { url, replaces = [] }: AccountAddressRequest,
): Promise<AccountAddressBody> {
  await setAccountAddress(deps.db, sellerId, { url, replaces });
  return retrieveWebhookEndpoint(deps, sellerId);
}

function tooManySecrets(possibleAt: Date): Problem {
  const detail =
    `${MAX_ACTIVE_SECRETS} webhook secrets are active, the maximum. The first one ends at ${possibleAt.toISOString()}; ` +
    'rotate again then. To end all older secrets immediately instead, rotate with "overlap_seconds": 0.';
  const retryAfterS = Math.max(1, Math.ceil((possibleAt.getTime() - Date.now()) / 1000));
  return new Problem('too_many_webhook_secrets', detail, { retryAfterS });
}

/**
 * Sends a test webhook and returns the result of the attempt.
 * @throws Problem `service_unavailable` if no worker returned the result in time
 */
export async function testWebhook(deps: OrderDependencies, sellerId: string, url: string): Promise<WebhookTestResult> {
  const webhookId = randomUUID();
  await insertWebhookTest(deps.db, webhookId, sellerId, url);
  const attempt = await deps.workflows.testWebhook(webhookId).catch((error: unknown) => {
    if (error instanceof NothingChanged) {
      throw unavailable('The service cannot send webhooks now. Nothing was sent. Repeating the call is safe.', error);
    }
    const outcome = 'The outcome is unknown: the webhook may have been sent.';
    throw unavailable(`${outcome} Repeating the call may send another one.`, error);
  });
  return {
    webhook_id: webhookId,
    delivered: attempt.outcome === 'delivered',
    ...toAttemptFields(attempt),
    request_body: attempt.body,
  };
}
