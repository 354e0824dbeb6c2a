import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, OrderServiceError, isTemporary } from './client-errors';
import type { Problem } from './contract-types';

const FIRST_BACKOFF_MS = 500;
/** No retry begins later than this after its call, because a customer may be waiting for the result. */
const LAST_RETRY_MS = 10_000;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Call {
  /** Search parameters: strings and numbers. Undefined values are omitted. */
  query?: object;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** True if the call can be repeated: twice has the same effect as once, and the same response. Default: true. */
  idempotent?: boolean;
}

interface ApiResponse<T> {
  body: T;
  headers: Headers;
}

type Failure = OrderServiceError | ConnectionError;

/**
 * Returns a function that makes a call and retries it after a temporary failure, if that is safe.
 * @param url includes the base path, without a trailing slash
 */
export function createTransport(url: string, apiKey: string, timeoutMs: number, maxRetries: number) {
  return async <T>(
    method: Method,
    path: string,
    { query = {}, body, headers, idempotent = true }: Call = {},
  ): Promise<ApiResponse<T>> => {
    // These throw a TypeError if the caller's arguments cannot be sent. Retrying would not help.
    const address = url + path + searchOf(query);
    const request = toRequest(method, apiKey, body, headers);
    const startedAt = performance.now();
    for (let retries = 0; ; retries++) {
      const result = await attempt(address, request, timeoutMs);
      if (!(result instanceof Error)) return result as ApiResponse<T>;
      const waitMs = Math.max(requestedWaitMs(result), backoffMs(retries));
      const isTooLate = performance.now() - startedAt + waitMs > LAST_RETRY_MS;
      if (retries >= maxRetries || isTooLate || !canRetry(idempotent, result)) throw result;
      await delay(waitMs);
    }
  };
}

function toRequest(method: Method, apiKey: string, body: unknown, headers: Call['headers']): RequestInit {
  return {
    method,
    // Following a redirect could send the key to another host.
    redirect: 'manual',
    headers: new Headers({
      Accept: 'application/json',
      Authorization: `Bearer ${apiKey}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}

async function attempt(
  address: string,
  request: RequestInit,
  timeoutMs: number,
): Promise<ApiResponse<unknown> | Failure> {
  const signal = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(address, { ...request, signal });
    text = await response.text();
  } catch (error) {
    return toConnectionError(error, new URL(address).origin, timeoutMs);
  }
  const body = parse(text);
  if (response.ok && hasData(body)) return { body, headers: response.headers };
  return toServiceError(response, body);
}

/** Every successful response has `data`. Without it, another server has responded, such as a proxy. */
function hasData(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'data' in body && body.data != null;
}

const requestedWaitMs = (failure: Failure): number => ('retryAfterMs' in failure && failure.retryAfterMs) || 0;

function searchOf(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size > 0 ? `?${search.toString()}` : '';
}

function toConnectionError(error: unknown, origin: string, timeoutMs: number): ConnectionError {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  const reason = cause?.code === undefined ? '' : ` (${cause.code})`;
  const message =
    name === 'TimeoutError'
      ? `no response from ${origin} within ${timeoutMs} ms`
      : `no response from the order service at ${origin}${reason}`;
  return new ConnectionError(message, { cause: error });
}

function toServiceError({ status, headers }: Response, body: unknown): OrderServiceError {
  const wait = parseRetryAfter(headers.get('Retry-After')?.trim());
  if (isProblem(body)) return new OrderServiceError(status, body.code, body.detail, body, wait);
  const detail = 'The response is not from the order service.';
  return new OrderServiceError(status, 'unexpected_response', detail, undefined, wait);
}

/** @param text seconds, or a date (RFC 9110) @returns ms; undefined if there is nothing to wait for */
function parseRetryAfter(text = ''): number | undefined {
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : text.endsWith(' GMT') ? Date.parse(text) - Date.now() : 0;
  return waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : undefined;
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'request_id' in body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function canRetry(idempotent: boolean, error: Failure): boolean {
  if (error instanceof ConnectionError) return idempotent;
  // With the first code the service did nothing. With the second one the earlier call is still in progress.
  if (error.code === 'rate_limited' || error.code === 'idempotency_key_in_progress') return true;
  return idempotent && isTemporary(error);
}

/** Exponential backoff with jitter, so that clients that failed together do not retry together. */
function backoffMs(retries: number): number {
  return FIRST_BACKOFF_MS * 2 ** retries * (0.5 + Math.random() / 2);
}
