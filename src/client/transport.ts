import { setTimeout as delay } from 'node:timers/promises';
import type { ProblemBody } from '../contracts/problem';
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

export type Transport = <T>(call: Call) => Promise<T>;

interface Failure {
  error: OrderServiceError | ConnectionError;
  /** What `Retry-After` asks for. */
  retryAfterMs: number;
}

/** Makes a call, and makes it again where that is safe and the trouble is one that passes. */
export function createTransport(options: TransportOptions): Transport {
  return async <T>(call: Call): Promise<T> => {
    for (let retries = 0; ; retries++) {
      const result = await attempt(options, call);
      if ('value' in result) return result.value as T;
      const { error, retryAfterMs } = result;
      if (retries >= options.maxRetries || retryAfterMs > LONGEST_RETRY_AFTER_MS || !mayRepeat(call, error))
        throw error;
      await delay(Math.max(retryAfterMs, backoffMs(retries)));
    }
  };
}

async function attempt(options: TransportOptions, call: Call): Promise<{ value: unknown } | Failure> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(addressOf(options.url, call), {
      method: call.method,
      // A redirect would carry the key to another address.
      redirect: 'manual',
      signal: AbortSignal.timeout(options.timeoutMs),
      headers: {
        Accept: 'application/json',
        Authorization: `Bearer ${options.apiKey}`,
        ...(call.body !== undefined && { 'Content-Type': 'application/json' }),
        ...call.headers,
      },
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    });
    text = await response.text();
  } catch (error) {
    return { error: toConnectionError(error, options.timeoutMs), retryAfterMs: 0 };
  }
  const body = parse(text);
  if (response.ok && body !== undefined) return { value: body };
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
