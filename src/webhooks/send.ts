import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isNativeError } from 'node:util/types';
import type { AttemptError, AttemptResult } from '../domain/webhook';
import { type Connection, type ConnectionOptions, checkWebhookUrl, openConnection } from './address-guard';
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

/** One attempt to deliver a webhook. */
export interface Attempt extends AttemptResult {
  /** `gone` (410): the receiver wants no more webhooks. */
  outcome: 'delivered' | 'failed' | 'gone';
  /** What only the operator may see, in the log: the seller could map the operator's network with it. */
  operatorDetail: string | null;
  /** `Retry-After` of a 429 or 503, in milliseconds, at most 24 hours. */
  retryAfterMs: number | null;
}

/** The attempt at a test webhook, with the body that was sent. */
export type WebhookTestAttempt = Omit<Attempt, 'operatorDetail'> & { body: string };

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

type Classification = Pick<Attempt, 'outcome' | 'error' | 'errorDetail'> & Partial<Pick<Attempt, 'operatorDetail'>>;

/** An attempt without a response. */
export function emptyAttempt(): Attempt {
  return {
    status: null,
    outcome: 'failed',
    error: null,
    errorDetail: null,
    operatorDetail: null,
    address: null,
    durationMs: 0,
    connectedMs: null,
    headersMs: null,
    responseBody: '',
    hasStaticHeaders: false,
    retryAfterMs: null,
  };
}

/** The status line alone decides the outcome; the body does not change it. */
function classifyStatus(status: number, location: string | string[] | undefined): Classification {
  if (status >= 200 && status < 300) return { outcome: 'delivered', error: null, errorDetail: null };
  if (status === 410) return { outcome: 'gone', error: 'http_status', errorDetail: 'answered 410 (gone)' };
  if (status >= 300 && status < 400) {
    const target = location === undefined ? '' : ` (to ${String(location)})`;
    return failure('redirect', `answered ${status}${target}; redirects are not followed`);
  }
  return failure('http_status', `answered ${status}`);
}

/** @param thrown an error of Node's HTTP, sockets, TLS or name lookup, or of the address guard */
function classifyError(thrown: unknown): Classification {
  const error: NodeJS.ErrnoException = isNativeError(thrown) ? thrown : new Error(String(thrown));
  // If all addresses of a name fail, Node's AggregateError has the code of one and an empty message.
  const detail = error.message === '' ? (error.code ?? error.name) : error.message;
  const attemptError = toAttemptError(error);
  // A name that is unknown looks like one with an internal address, so that nobody can look for internal names.
  if (attemptError === 'dns') return { ...failure('dns', UNUSABLE_NAME), operatorDetail: detail };
  return failure(attemptError, error.code?.startsWith('HPE_') ? describeParseError(error.code, detail) : detail);
}

/** Node's parser reads 16 KiB of headers, and names each fault: "Parse Error: Invalid header token". */
function describeParseError(code: string, detail: string): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'the response has more than 16 KiB of headers';
  return `the response is not valid HTTP: ${detail.replace(/^Parse Error: /, '')}`;
}

const UNUSABLE_NAME = 'the host name does not lead to a public address';

export function failure(error: AttemptError, detail: string): Classification {
  const errorDetail = detail.replace(/[\p{Cc}\p{Cs}\p{Bidi_Control}]+/gu, ' ').slice(0, 300);
  return { outcome: 'failed', error, errorDetail: errorDetail.replace(/\p{Cs}$/u, '') };
}

const BY_CODE: [RegExp, AttemptError][] = [
  [/^ETIMEDOUT$/, 'timeout'],
  [/^(ENOTFOUND|ENODATA|ESERVFAIL|EAI_.*|ERR_ADDRESS_REFUSED)$/, 'dns'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE)$/, 'reset'],
  // OpenSSL's verification errors (X509_V_ERR_… without the prefix) share no part of their names.
  [/^(EPROTO|ERR_TLS_.*|ERR_SSL_.*|.*CERT.*|.*_CRL_.*|CRL_.*|UNABLE_TO_.*|HOSTNAME_MISMATCH)$/, 'tls'],
  [/^(INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED)$/, 'tls'],
  [/^(HPE_.*|ERR_RESPONSE_TOO_LARGE)$/, 'invalid_response'],
];

function toAttemptError({ name, code = name, syscall = '' }: NodeJS.ErrnoException): AttemptError {
  if (/^(getaddrinfo|query)/.test(syscall)) return 'dns';
  return BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? 'network';
}
