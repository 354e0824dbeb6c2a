import { parseUrl } from './web-url';
import type { AttemptError, AttemptResult } from './webhook';

/** What the last attempt at an endpoint shows: a 2xx, another response, or none. */
export const ENDPOINT_STATES = ['answering', 'failing', 'not_answering'] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

const UNANSWERED: readonly (AttemptError | null)[] = ['timeout', 'dns', 'refused', 'reset', 'tls', 'network'];

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

export const normalUrl = (url: string): string => parseUrl(url)?.href ?? url;
