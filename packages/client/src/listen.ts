import { setTimeout as delay } from 'node:timers/promises';
import { type OrderServiceClient, everyItem } from './client';
import { OrderServiceError, isTemporary } from './client-errors';
import type { OrderStatusChanged, WebhookEvent } from './contract-types';

const POLL_MS = 1000;
/** After a refusal, which may be that of a proxy. */
const REFUSED_MS = 10_000;
/** As for an attempt of the service. */
const TIMEOUT_MS = 15_000;

interface ListenOptions {
  orders: OrderServiceClient;
  /** The URL that receives the webhooks. */
  forwardTo: string;
  print: (line: string) => void;
  signal: AbortSignal;
}

/**
 * Forwards the webhooks of a sandbox account, from now on, until `signal` aborts: the bytes and headers that the
 * service sends, with a signature of the moment. Each is forwarded once, whatever the receiver returns. A webhook that the
 * service refuses to return is skipped.
 * @throws OrderServiceError if the service refuses the first call, or the key later
 */
export async function listen({ orders, forwardTo, print, signal }: ListenOptions): Promise<void> {
  const earlier = (await orders.listWebhooks({ created_from: '1970-01-01', limit: 100 })).data;
  let latest = earlier[0]?.created_at ?? '1970-01-01';
  let seen = new Set(earlier.map(({ id }) => id));
  print(`Forwarding webhooks to ${forwardTo}. Ctrl-C stops.`);
  while (!signal.aborted) {
    let waitMs = POLL_MS;
    try {
      for (const event of await findNew(orders, latest, seen)) {
        print(await forward(orders, event, forwardTo).catch((error: unknown) => skip(event, error)));
        if (event.created_at > latest) seen = new Set();
        seen.add(event.id);
        latest = event.created_at;
      }
    } catch (error) {
      if (error instanceof OrderServiceError) {
        if (error.status === 401) throw error;
        waitMs = Math.max(isTemporary(error) ? POLL_MS : REFUSED_MS, error.retryAfterMs ?? 0);
      }
      print((error as Error).message);
    }
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** @returns why a webhook is not forwarded. Other errors are thrown: it is forwarded later */
function skip({ id }: WebhookEvent, error: unknown): string {
  if (!(error instanceof OrderServiceError) || isTemporary(error) || error.status === 401) throw error;
  return `webhook ${id}: not forwarded (${error.message})`;
}

/** The webhooks since `latest` that are not in `seen`, oldest first. */
async function findNew(orders: OrderServiceClient, latest: string, seen: ReadonlySet<string>): Promise<WebhookEvent[]> {
  const found: WebhookEvent[] = [];
  // A list of 10 counts as one request.
  const events = everyItem((cursor) => orders.listWebhooks({ created_from: latest, limit: 10, ...cursor }));
  for await (const event of events) if (!seen.has(event.id)) found.push(event);
  return found.sort((one, other) => one.created_at.localeCompare(other.created_at) || one.sequence - other.sequence);
}

/** @returns what happened, in a line */
async function forward(orders: OrderServiceClient, { id }: WebhookEvent, forwardTo: string): Promise<string> {
  const { request_headers: headers, request_body: body } = await orders.retrieveWebhook(id);
  const { data } = JSON.parse(body) as OrderStatusChanged;
  const what = `${data.order.reference}: ${data.previous_status} -> ${data.order.status}`;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(forwardTo, { method: 'POST', redirect: 'manual', headers, body, signal });
    await response.body?.cancel();
    return `${what}: ${response.status}`;
  } catch (error) {
    const { cause = error } = error as Error;
    return `${what}: not received (${(cause as Error).message || String((cause as { code?: string }).code)})`;
  }
}
