import { parseUrl } from './web-url';

/** The delivery state of a webhook event: `pending`, or how the delivery ended. */
export const WEBHOOK_STATES = ['pending', 'delivered', 'exhausted', 'disabled'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

/** The parts of an event by which an order's workflow refers to it. */
export interface WebhookRef {
  id: string;
  sequence: number;
}

/** Why an attempt failed. */
export const ATTEMPT_ERRORS = [
  'http_status',
  'redirect',
  'timeout',
  'dns',
  'refused',
  'reset',
  'tls',
  'invalid_url',
  'no_secret',
  'invalid_response',
  'network',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** What an attempt to deliver a webhook shows its seller. Durations count from its start; null if it did not get that far. */
export interface AttemptResult {
  /** HTTP status; null without a response in time. */
  status: number | null;
  error: AttemptError | null;
  /** One line of plain text, at most 300 characters, without control characters. */
  errorDetail: string | null;
  /** The receiver's IP address; null without a (TLS) connection. */
  address: string | null;
  durationMs: number;
  /** Until the TLS handshake is complete, or the TCP connection without TLS. */
  connectedMs: number | null;
  /** Until the status line and the headers have arrived. */
  headersMs: number | null;
  /** First 1 KiB of the response body as text that Postgres can store: valid UTF-8 without NUL. */
  responseBody: string;
  /** True if the request had the seller's static headers. */
  hasStaticHeaders: boolean;
}

/** Webhooks of a list, or of a resend of many. */
export interface WebhookSelection {
  sellerId?: string | undefined;
  /** Omitted: any state. */
  state?: WebhookState | undefined;
  /** Omitted: of any order. */
  orderIds?: readonly string[] | undefined;
  /** ISO 8601, inclusive. */
  since?: string | undefined;
  /** ISO 8601, exclusive. */
  until?: string | undefined;
  /** A webhook id: the selection continues after this webhook. */
  after?: string | undefined;
}

/** When a webhook is sent, and when it is given up. */
export interface RetrySchedule {
  /** Milliseconds before each attempt; its length is the number of attempts. The first is made at once. */
  delaysMs: readonly number[];
  /** After this many failed attempts, an event yields to a later event that waits for it. */
  attemptsWithSuccessor: number;
  /** The longest wait while a later event waits, which a receiver could otherwise delay for days, in ms. */
  maxWaitWithSuccessorMs: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The random spread of a delay as a fraction of it: ±10 %. */
export const RETRY_JITTER = 0.1;

/** Standard Webhooks 1.0, "Deliverability": ten attempts over 75 hours and 35 minutes. */
export const STANDARD_SCHEDULE: RetrySchedule = {
  delaysMs: [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
  attemptsWithSuccessor: 5,
  maxWaitWithSuccessorMs: HOUR,
};

/**
 * Returns the milliseconds from a failed attempt to the next one, or null if it was the last.
 * @param attempt the attempt that failed, from 1
 * @param retryAfterMs the receiver's Retry-After, at most 24 hours; 0 if it sent none
 * @param random in [0, 1)
 */
export function retryDelay(
  schedule: RetrySchedule,
  {
    attempt,
    hasSuccessor,
    retryAfterMs,
    random,
  }: { attempt: number; hasSuccessor: boolean; retryAfterMs: number; random: number },
): number | null {
  if (hasSuccessor && yieldsToNext(schedule, attempt)) return null;
  const delay = schedule.delaysMs[attempt];
  if (delay === undefined) return null;
  const waitMs = Math.round(Math.max(delay * (1 + RETRY_JITTER * (2 * random - 1)), retryAfterMs));
  return hasSuccessor ? Math.min(waitMs, schedule.maxWaitWithSuccessorMs) : waitMs;
}

/** True if an event has failed so often that it yields to a later one. */
export function yieldsToNext(schedule: RetrySchedule, attempts: number): boolean {
  return attempts >= schedule.attemptsWithSuccessor;
}

/** What the last attempt at an endpoint shows: a 2xx, another response, or none. */
export const ENDPOINT_STATES = ['answering', 'failing', 'not_answering'] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

const UNANSWERED: readonly (AttemptError | null)[] = ['timeout', 'dns', 'refused', 'reset', 'tls', 'network'];

/** What a seller is told of an endpoint. `failing`: no webhook was accepted for an hour. `exhausted`: one is not retried any more. */
export type EndpointTurn = 'failing' | 'exhausted' | 'answering';

/** @returns null if the endpoint was not called. Any response is an answer, even one that is not valid HTTP */
export function endpointStateOf({ status, error }: Pick<AttemptResult, 'status' | 'error'>): EndpointState | null {
  if (error === null) return 'answering';
  if (status !== null || error === 'invalid_response') return 'failing';
  return UNANSWERED.includes(error) ? 'not_answering' : null;
}

/** Times in ms. */
export interface BreakerOptions {
  /** After this many attempts in a row without an answer, the breaker opens. */
  failures: number;
  /** The wait for a probe is a quarter of the outage so far, but at least and at most this. */
  minWaitMs: number;
  maxWaitMs: number;
}

export const probeDelayMs = ({ minWaitMs, maxWaitMs }: BreakerOptions, outageMs: number): number =>
  Math.min(Math.max(outageMs / 4, minWaitMs), maxWaitMs);

/** Scheme, host and port of a URL; empty if it is malformed. */
export const originOf = (url: string): string => parseUrl(url)?.origin ?? '';

/** Where an account's webhooks go. */
export interface AccountAddress {
  /** For orders that name no address; null: nowhere. */
  url: string | null;
  /** Addresses, in their normal form, and origins (without a trailing slash) whose webhooks go to `url` instead. */
  replaces: readonly string[];
}

/**
 * The URL to which an order's webhooks go now.
 * @param orderUrl that the order names
 * @returns null if neither the order nor its account has one
 */
export function webhookUrlOf(orderUrl: string | null, { url, replaces }: AccountAddress): string | null {
  if (orderUrl === null) return url;
  return replaces.includes(originOf(orderUrl)) || replaces.includes(normalUrl(orderUrl)) ? url : orderUrl;
}

const normalUrl = (url: string): string => parseUrl(url)?.href ?? url;
