import type { LookupFunction } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { guardedConnector } from './address-guard';
import { failure, classifyError, classifyStatus, emptyAttempt, type Attempt, type Classification } from './attempt';
import { readResponse } from './read-response';
import { parseRetryAfter } from './retry-after';
import { checkWebhookUrl, type AddressPolicy } from './webhook-url';

export type { Attempt, AttemptError, AttemptPhases } from './attempt';

export interface SenderOptions {
  policy: AddressPolicy;
  /** Limit for a whole attempt, in milliseconds; 15,000 if left out. */
  timeoutMs?: number;
  /** Resolves names; `dns.lookup` if left out. */
  lookup?: LookupFunction;
  /** Trust anchors in PEM, in place of Node's own. */
  ca?: string;
}

export interface WebhookRequest {
  url: string;
  id: string;
  /** Unix seconds, as signed. */
  timestamp: number;
  signature: string;
  body: string;
}

export interface WebhookSender {
  /** Makes one attempt. Never rejects for what a receiver or the network does; rejects once the sender is closed. */
  send: (request: WebhookRequest) => Promise<Attempt>;
  /** Takes no more; resolves when the attempts under way have ended. */
  close: () => Promise<void>;
}

/**
 * A connection an attempt, on purpose: a kept-alive one that the receiver closes just then fails a delivery that
 * nobody is to blame for, and each attempt is to be judged, timed and recorded by its own connection. TLS sessions
 * are resumed across attempts.
 */
export function createWebhookSender({ policy, timeoutMs = 15_000, lookup, ca }: SenderOptions): WebhookSender {
  const connector = guardedConnector(policy, { lookup, ca, timeoutMs });
  const underWay = new Set<Promise<Attempt>>();
  let closed = false;

  async function attempt(request: WebhookRequest): Promise<Attempt> {
    const start = performance.now();
    const elapsedMs = () => Math.round(performance.now() - start);
    const result = emptyAttempt();
    const refusal = refuseUrl(request.url, policy);
    if (refusal !== undefined) return { ...result, ...refusal };

    const url = new URL(request.url);
    const client = new Client(url.origin, {
      pipelining: 0,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: (target, callback) =>
        connector(target, (error, socket) => {
          if (error !== null) {
            callback(error, null);
            return;
          }
          result.phases.connectedMs = elapsedMs();
          result.peerAddress = socket.remoteAddress ?? null;
          callback(null, socket);
        }),
    });
    // Destroying the client ends it in any phase; undici does not hear an AbortSignal before it is connected.
    const deadline = setTimeout(() => void client.destroy(timeoutError(timeoutMs)), timeoutMs);
    try {
      const { statusCode: status, headers, body } = await client.request(toHttp(url, request));
      // Unheard, a late error of the body would end the process.
      body.on('error', () => undefined);
      result.status = status;
      result.phases.headersMs = elapsedMs();
      Object.assign(result, classifyStatus(status, headers.location));
      if (status === 429 || status === 503) result.retryAfterMs = parseRetryAfter(headers['retry-after'], Date.now());
      result.responseBody = await readResponse(body);
    } catch (error) {
      Object.assign(result, classifyError(error));
    } finally {
      clearTimeout(deadline);
      await client.destroy();
      result.durationMs = elapsedMs();
    }
    return result;
  }

  return {
    async send(request) {
      if (closed) throw new Error('the webhook sender is closed');
      const sending = attempt(request);
      underWay.add(sending);
      try {
        return await sending;
      } finally {
        underWay.delete(sending);
      }
    },
    async close() {
      closed = true;
      await Promise.allSettled(underWay);
    },
  };
}

/** Checked at each send: the policy, or the rules, may have become stricter since the URL was taken. */
function refuseUrl(url: string, policy: AddressPolicy): Classification | undefined {
  const reason = checkWebhookUrl(url, policy);
  if (reason === undefined) return undefined;
  const malformed = checkWebhookUrl(url, { ...policy, allowPrivate: true }) !== undefined;
  return failure(malformed ? 'invalid_url' : 'address_refused', `the URL ${reason}`);
}

function timeoutError(timeoutMs: number): Error {
  return Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
}

function toHttp(url: URL, { id, timestamp, signature, body }: WebhookRequest): Dispatcher.RequestOptions {
  return {
    method: 'POST',
    path: url.pathname + url.search,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'order-service-webhooks/1',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
    },
    body,
  };
}
