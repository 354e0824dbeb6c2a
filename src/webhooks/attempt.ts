import { isNativeError } from 'node:util/types';
import type { AttemptError, AttemptResult } from '../domain/webhook';

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
export function classifyStatus(status: number, location: string | string[] | undefined): Classification {
  if (status >= 200 && status < 300) return { outcome: 'delivered', error: null, errorDetail: null };
  if (status === 410) return { outcome: 'gone', error: 'http_status', errorDetail: 'answered 410 (gone)' };
  if (status >= 300 && status < 400) {
    const target = location === undefined ? '' : ` (to ${String(location)})`;
    return failure('redirect', `answered ${status}${target}; redirects are not followed`);
  }
  return failure('http_status', `answered ${status}`);
}

/** @param thrown an error of Node's HTTP, sockets, TLS or name lookup, or of the address guard */
export function classifyError(thrown: unknown): Classification {
  const error: NodeJS.ErrnoException = isNativeError(thrown) ? thrown : new Error(String(thrown));
  // If all addresses of a name fail, Node's AggregateError has the code of one and an empty message.
  const detail = error.message === '' ? (error.code ?? error.name) : error.message;
  const attemptError = toAttemptError(error);
  // A name that is unknown looks like one with an internal address, so that nobody can look for internal names.
  if (attemptError === 'dns') return { ...failure('dns', UNUSABLE_NAME), operatorDetail: detail };
  return failure(attemptError, error.code?.startsWith('HPE_') ? notHttp(error.code, detail) : detail);
}

/** Node's parser reads 16 KiB of headers, and names each fault: "Parse Error: Invalid header token". */
function notHttp(code: string, detail: string): string {
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
