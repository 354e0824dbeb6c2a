import type { AttemptError } from '../../src/domain/webhook';
import { selfSigned } from './self-signed';
import {
  type Start,
  failingWith,
  failingWithRetryAfter,
  bomb,
  drip,
  endless,
  hugeHeaders,
  retryInSeconds,
  afterTimeout,
  overTls,
  plainAtHttps,
  redirectingToPrivate,
  refusingConnections,
  unknownHost,
  retryAtDate,
} from './failing-responses';

/** A certificate that the worker trusts, for a host name that no receiver has. */
export const otherHost = selfSigned('other.example');

export interface Kind {
  start: Start;
  /** The status of each attempt. */
  status?: number;
  error?: AttemptError;
  detail?: RegExp;
  /** True if an attempt lasts until its timeout. */
  slow?: boolean;
  /** True if the receiver sends as much as it can. */
  floods?: boolean;
  /** True if an attempt gets no TCP or TLS connection. */
  unconnected?: boolean;
  /** The webhook's state after one attempt. Default: `exhausted` after all attempts. */
  state?: 'delivered' | 'disabled';
}

/** The ways in which a receiver can fail, as the end of a sentence: "a receiver that …". */
export const KINDS: Record<string, Kind> = {
  'responds with 200 after the timeout': { start: failingWith(afterTimeout), error: 'timeout', slow: true },
  'responds with 500': { start: failingWith((to) => to.writeHead(500).end()), status: 500, error: 'http_status' },
  'responds with 429 and a Retry-After in seconds': {
    start: failingWithRetryAfter(429, retryInSeconds),
    status: 429,
    error: 'http_status',
  },
  'responds with 429 and a Retry-After date': {
    start: failingWithRetryAfter(429, retryAtDate),
    status: 429,
    error: 'http_status',
  },
  'responds with 503 and a Retry-After in seconds': {
    start: failingWithRetryAfter(503, retryInSeconds),
    status: 503,
    error: 'http_status',
  },
  'responds with 410': {
    start: failingWith((to) => to.writeHead(410).end()),
    ...{ status: 410, error: 'http_status', state: 'disabled' },
  },
  'redirects to a private address': { start: redirectingToPrivate, status: 302, error: 'redirect' },
  'redirects to the metadata service': {
    start: failingWith((to) => to.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end()),
    ...{ status: 302, error: 'redirect' },
  },
  'responds with 500 and an endless body': {
    start: failingWith(endless(500)),
    ...{ status: 500, error: 'http_status', floods: true },
  },
  'responds with 200 and an endless body': {
    start: failingWith(endless(200)),
    ...{ status: 200, state: 'delivered', floods: true },
  },
  'responds with 500 and a body of one byte per second': {
    start: failingWith((to) => drip(to, to.writeHead(500), 'oh no')),
    ...{ status: 500, error: 'http_status', slow: true },
  },
  'responds with 200 and a body of one byte per second': {
    start: failingWith((to) => drip(to, to.writeHead(200), 'thanks')),
    ...{ status: 200, state: 'delivered', slow: true },
  },
  'sends headers of one byte per second': {
    start: failingWith((to) => drip(to, to.socket!, 'HTTP/1.1 200 OK\r\n')),
    ...{ error: 'timeout', slow: true },
  },
  'has a self-signed certificate': {
    start: overTls(selfSigned('localhost')),
    ...{ error: 'tls', detail: /self-signed certificate/, unconnected: true },
  },
  "has another host's certificate": {
    start: overTls(otherHost),
    ...{ error: 'tls', detail: /does not match certificate's altnames/, unconnected: true },
  },
  'responds without TLS at an https URL': { start: plainAtHttps, error: 'tls', unconnected: true },
  'has an unknown host name': { start: unknownHost, error: 'dns', unconnected: true },
  'refuses the connection': { start: refusingConnections, error: 'refused', unconnected: true },
  'resets the connection after the request': {
    start: failingWith((to) => void to.socket?.resetAndDestroy()),
    error: 'reset',
  },
  'never responds': { start: failingWith(() => undefined), error: 'timeout', slow: true },
  'responds with another protocol': {
    start: failingWith((to) => void to.socket?.end('SSH-2.0-OpenSSH_9.0\r\n')),
    error: 'invalid_response',
  },
  'responds with 1 MB of headers': { start: failingWith(hugeHeaders), error: 'invalid_response', floods: true },
  'responds with a gzip bomb': { start: failingWith(bomb), status: 500, error: 'http_status', floods: true },
};
