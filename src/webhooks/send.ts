import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, type ConnectionOptions, openConnection } from './address-guard';
import { failure, classifyError, classifyStatus, emptyAttempt, type Attempt } from './attempt';
import { checkWebhookUrl } from './webhook-url';
import { webhookHeaders } from './sign';

export interface SenderOptions extends ConnectionOptions {
  /** For a whole attempt. */
  timeoutMs: number;
}

export interface WebhookRequest {
  url: string;
  id: string;
  /** Unix seconds; the signature covers it. */
  timestamp: number;
  signature: string;
  /** The seller's own headers, by lower-case name. Those of the service take precedence. */
  headers?: Record<string, string> | undefined;
  body: string;
  /** W3C Trace Context, sent as a header. */
  traceparent?: string | undefined;
}

export interface WebhookSender {
  /** Makes one attempt. Never rejects: a failure of the receiver or the network is in the result. */
  send: (request: WebhookRequest) => Promise<Attempt>;
}

/**
 * An attempt without a usable address takes at least this long: otherwise its duration reveals which names exist
 * internally.
 */
const NO_ADDRESS_MS = 1000;

const MAX_RETRY_AFTER_MS = 24 * 3_600_000;
const READ_BYTES = 64 * 1024;
const KEPT_BYTES = 1024;

/**
 * Each attempt opens its own connection: a receiver may close a kept-alive connection at the moment of reuse, which
 * fails a delivery for no reason, and address, timing and errors belong to one attempt.
 */
export function createWebhookSender({ timeoutMs, ...options }: SenderOptions): WebhookSender {
  async function send(request: WebhookRequest): Promise<Attempt> {
    const start = performance.now();
    const elapsedMs = () => Math.round(performance.now() - start);
    const result = { ...emptyAttempt(), hasStaticHeaders: request.headers !== undefined };
    // The policy or the rules can be stricter than when the URL was accepted.
    const reason = checkWebhookUrl(request.url, options.policy);
    if (reason !== undefined) return { ...result, ...failure('invalid_url', `the URL ${reason}`) };

    const late = new AbortController();
    const lateError = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
    // A process that was frozen first reads what has arrived.
    const deadline = setTimeout(() => setImmediate(() => late.abort(lateError)), timeoutMs);
    let connection: Connection | undefined;
    try {
      const url = new URL(request.url);
      connection = await openConnection(url, options, late.signal);
      // A process that was frozen gets here after the deadline, when another attempt may be running.
      if (elapsedMs() > timeoutMs) throw lateError;
      result.connectedMs = elapsedMs();
      result.address = connection.socket.remoteAddress ?? null;
      const response = await post(url, request, connection);
      const { statusCode: status = 0, headers } = response;
      if (status < 200) throw notHttp(`answered ${status}`);
      result.status = status;
      result.headersMs = elapsedMs();
      Object.assign(result, classifyStatus(status, headers.location));
      if (status === 429 || status === 503) {
        // By the clock of Postgres, like the signed timestamp.
        const nowMs = request.timestamp * 1000 + elapsedMs();
        result.retryAfterMs = parseRetryAfter(headers['retry-after'], nowMs);
      }
      result.responseBody = await readResponse(response);
    } catch (error) {
      Object.assign(result, classifyError(late.signal.aborted ? lateError : error));
    } finally {
      clearTimeout(deadline);
      connection?.socket.destroy();
      if (result.error === 'dns') await delay(Math.max(Math.min(NO_ADDRESS_MS, timeoutMs) - elapsedMs(), 0));
      result.durationMs = elapsedMs();
    }
    return result;
  }

  return { send };
}

/** Sends the request. Returns the response as soon as its headers have arrived. */
function post(url: URL, request: WebhookRequest, { socket, checkBytesRead }: Connection): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = httpRequest({
      createConnection: () => socket,
      method: 'POST',
      path: url.pathname + url.search,
      headers: {
        ...request.headers,
        host: url.host,
        ...webhookHeaders(request.id, request.timestamp, request.signature),
        ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
        'content-length': Buffer.byteLength(request.body),
      },
      // Reads what a strict parser refuses, such as folded headers: the receiver has answered.
      insecureHTTPParser: true,
    });
    // HTTP reads the socket from now on.
    call.once('socket', () => socket.prependListener('data', () => checkBytesRead(socket)));
    call.on('error', reject);
    call.once('upgrade', () => reject(notHttp('answered 101, which was not requested')));
    call.once('response', (response) => {
      // Without a listener, a late error of the body would end the process.
      response.on('error', () => undefined);
      resolve(response);
    });
    call.end(request.body);
  });
}

/**
 * The wait of a `Retry-After` header (RFC 9110) in milliseconds, from 0 to 24 hours: seconds, or a date in one of the
 * formats with a zone. Null for a missing or malformed header. If there are several, the first is used.
 * @param nowMs the current time in Unix milliseconds
 */
export function parseRetryAfter(value: string | string[] | undefined, nowMs: number): number | null {
  const text = (Array.isArray(value) ? value[0] : value)?.trim() ?? '';
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : text.endsWith(' GMT') ? Date.parse(text) - nowMs : NaN;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

/** An answer that no parser can read. */
function notHttp(detail: string): Error {
  return Object.assign(new Error(detail), { code: 'HPE_INVALID_STATUS' });
}

/**
 * Reads up to 64 KiB of a body, so that an ordinary receiver can finish its response, and returns the first 1 KiB as
 * text. If the body breaks off, returns what arrived. Never throws.
 */
async function readResponse(body: Readable): Promise<string> {
  const head = Buffer.alloc(KEPT_BYTES);
  let kept = 0;
  let read = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      kept += chunk.copy(head, kept);
      read += chunk.length;
      if (read >= READ_BYTES) break;
    }
  } catch {
    // The status line has decided the outcome.
  }
  return toText(head.subarray(0, kept));
}

/** At most 1 KiB of UTF-8 that Postgres accepts: no NUL, no partial character at the end, U+FFFD for each bad byte. */
function toText(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '');
  // Each U+FFFD takes three bytes, so the text can exceed the limit.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(KEPT_BYTES));
  return text.slice(0, read);
}
