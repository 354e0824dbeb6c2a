import { setTimeout as delay } from 'node:timers/promises';
import type { ProblemBody } from '../contracts/problem-schema';
import { ConnectionError, OrderServiceError } from './errors';

/** Trouble that passes. */
const PASSING_STATUSES: readonly number[] = [408, 500, 502, 503, 504];
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;
/** What asks for a longer wait is the caller's to repeat. */
const LONGEST_RETRY_AFTER_MS = 60_000;

export interface TransportOptions {
  /** Of the service, with its base path and without a slash at the end. */
  url: string;
  apiKey: string;
  timeoutMs: number;
  maxRetries: number;
}

export interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** Search parameters: texts and numbers; what is undefined is left out. */
  query?: object;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Made twice, it does what it does once. */
  repeatable: boolean;
}

export interface Answer<T> {
  body: T;
  headers: Headers;
}

export type Transport = <T>(call: Call) => Promise<Answer<T>>;

interface Failure {
  error: OrderServiceError | ConnectionError;
  /** What `Retry-After` asks for. */
  retryAfterMs: number;
}

/** Makes a call, and makes it again where that is safe and the trouble is one that passes. */
export function createTransport(options: TransportOptions): Transport {
  return async <T>(call: Call): Promise<Answer<T>> => {
    // What cannot be sent is a mistake of the caller's: it is thrown here as what it is, and not tried again.
    const address = addressOf(options.url, call);
    const request = toRequest(options.apiKey, call);
    for (let retries = 0; ; retries++) {
      const result = await attempt(address, request, options.timeoutMs);
      if ('body' in result) return result as Answer<T>;
      const { error, retryAfterMs } = result;
      if (retries >= options.maxRetries || retryAfterMs > LONGEST_RETRY_AFTER_MS || !mayRepeat(call, error))
        throw error;
      await delay(Math.max(retryAfterMs, backoffMs(retries)));
    }
  };
}

function toRequest(apiKey: string, { method, body, headers }: Call): RequestInit {
  return {
    method,
    // A redirect would carry the key to another address.
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

async function attempt(address: string, request: RequestInit, timeoutMs: number): Promise<Answer<unknown> | Failure> {
  const signal = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(address, { ...request, signal });
    text = await response.text();
  } catch (error) {
    return { error: toConnectionError(error, timeoutMs), retryAfterMs: 0 };
  }
  const body = parse(text);
  if (response.ok && body !== undefined) return { body, headers: response.headers };
  const seconds = Number(response.headers.get('Retry-After'));
  return { error: toServiceError(response.status, body), retryAfterMs: seconds > 0 ? seconds * 1000 : 0 };
}

function addressOf(url: string, { path, query = {} }: Call): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `${url}${path}${search.size > 0 ? `?${search.toString()}` : ''}`;
}

function toConnectionError(error: unknown, timeoutMs: number): ConnectionError {
  const timedOut = (error as { name?: unknown } | null)?.name === 'TimeoutError';
  const why = timedOut ? `no answer within ${timeoutMs} ms` : 'the order service cannot be reached';
  return new ConnectionError(why, { cause: error });
}

function toServiceError(status: number, body: unknown): OrderServiceError {
  if (!isProblem(body)) {
    return new OrderServiceError(
      status,
      'unexpected_answer',
      `The answer ${status} is not the order service's.`,
      undefined,
    );
  }
  return new OrderServiceError(status, body.code, body.detail, body);
}

function isProblem(body: unknown): body is ProblemBody {
  return typeof body === 'object' && body !== null && 'code' in body && 'request_id' in body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function mayRepeat({ repeatable }: Call, error: OrderServiceError | ConnectionError): boolean {
  if (error instanceof ConnectionError) return repeatable;
  // The first means that nothing was done, the second that the same call made before goes on.
  if (error.code === 'rate_limited' || error.code === 'idempotency_key_in_progress') return true;
  return repeatable && PASSING_STATUSES.includes(error.status);
}

/** Doubled each time, and spread: clients that failed together must not come back together. */
function backoffMs(retries: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** retries, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2);
}
