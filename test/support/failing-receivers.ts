import type { AttemptError } from '../../src/webhooks/attempt';
import { selfSigned } from '../unit/webhooks/self-signed';
import type { Start } from './failing-answers';
import {
  answering,
  asking,
  bomb,
  drip,
  endless,
  hugeHeaders,
  inSeconds,
  late,
  overTls,
  plainWhereTls,
  redirectingInwards,
  refusing,
  unknownHost,
  untilDate,
} from './failing-answers';

/** A certificate that the worker is to trust, for a host that none of the receivers is. */
export const otherHost = selfSigned('other.example');

export interface Kind {
  start: Start;
  /** Of each attempt. */
  status?: number;
  error?: AttemptError;
  detail?: RegExp;
  /** Whether an attempt lasts until its deadline. */
  slow?: boolean;
  /** Whether it sends as much as it can. */
  floods?: boolean;
  /** Whether an attempt gets no connection, or none over TLS. */
  unconnected?: boolean;
  /** `exhausted` after all attempts if left out; after one attempt otherwise. */
  state?: 'delivered' | 'disabled';
}

/** What can become of a seller's receiver, in words that follow "a receiver that". */
export const KINDS: Record<string, Kind> = {
  'answers 200 after the deadline': { start: answering(late), error: 'timeout', slow: true },
  'answers 500': { start: answering((to) => to.writeHead(500).end()), status: 500, error: 'http_status' },
  'answers 429 and says for how many seconds': { start: asking(429, inSeconds), status: 429, error: 'http_status' },
  'answers 429 and says until which date': { start: asking(429, untilDate), status: 429, error: 'http_status' },
  'answers 503 and says for how many seconds': { start: asking(503, inSeconds), status: 503, error: 'http_status' },
  'answers 410': {
    start: answering((to) => to.writeHead(410).end()),
    ...{ status: 410, error: 'http_status', state: 'disabled' },
  },
  'redirects to an inner address': { start: redirectingInwards, status: 302, error: 'redirect' },
  'redirects to the metadata service': {
    start: answering((to) => to.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end()),
    ...{ status: 302, error: 'redirect' },
  },
  'has no end to its body after 500': {
    start: answering(endless(500)),
    ...{ status: 500, error: 'http_status', floods: true },
  },
  'has no end to its body after 200': {
    start: answering(endless(200)),
    ...{ status: 200, state: 'delivered', floods: true },
  },
  'sends a body of a byte a second after 500': {
    start: answering((to) => drip(to, to.writeHead(500), 'oh no')),
    ...{ status: 500, error: 'http_status', slow: true },
  },
  'sends a body of a byte a second after 200': {
    start: answering((to) => drip(to, to.writeHead(200), 'thanks')),
    ...{ status: 200, state: 'delivered', slow: true },
  },
  'sends headers of a byte a second': {
    start: answering((to) => drip(to, to.socket!, 'HTTP/1.1 200 OK\r\n')),
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
  'speaks no TLS where it should': { start: plainWhereTls, error: 'tls', unconnected: true },
  'has an unknown host name': { start: unknownHost, error: 'dns', unconnected: true },
  'refuses the connection': { start: refusing, error: 'refused', unconnected: true },
  'resets the connection once it has the request': {
    start: answering((to) => void to.socket?.resetAndDestroy()),
    error: 'reset',
  },
  'takes the request and is silent': { start: answering(() => undefined), error: 'timeout', slow: true },
  'answers in another language': {
    start: answering((to) => void to.socket?.end('SSH-2.0-OpenSSH_9.0\r\n')),
    error: 'invalid_response',
  },
  'answers with headers of 1 MB': { start: answering(hugeHeaders), error: 'invalid_response', floods: true },
  'answers with a gzip bomb': { start: answering(bomb), status: 500, error: 'http_status', floods: true },
};
