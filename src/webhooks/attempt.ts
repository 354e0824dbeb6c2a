import { isNativeError } from 'node:util/types';

/** What kept an attempt from being a delivery. */
export type AttemptError =
  | 'http_status'
  | 'redirect'
  | 'timeout'
  | 'dns'
  | 'refused'
  | 'reset'
  | 'tls'
  | 'address_refused'
  | 'invalid_url'
  | 'no_secret'
  | 'invalid_response'
  | 'network';

/** Milliseconds from the start of the attempt; null for what was not reached. */
export interface AttemptPhases {
  /** Name resolved, connected, TLS handshake done. */
  connectedMs: number | null;
  /** Status line and headers of the answer are in. */
  headersMs: number | null;
}

/** One attempt to deliver a webhook, as it is recorded. */
export interface Attempt {
  /** HTTP status; null if no answer came in time. */
  status: number | null;
  /** `gone` (410): the receiver wants no more. */
  outcome: 'delivered' | 'failed' | 'gone';
  error: AttemptError | null;
  /** The error in a line of plain text, without control characters. */
  errorDetail: string | null;
  /** Whole attempt, in milliseconds. */
  durationMs: number;
  phases: AttemptPhases;
  /** Address connected to; null if there was no (TLS) connection. */
  peerAddress: string | null;
  /** First 1 KiB of the answer's body as text that Postgres can keep: valid UTF-8 without NUL. */
  responseBody: string;
  /** Wait asked for by a 429 or 503, in milliseconds, at most 24 hours. */
  retryAfterMs: number | null;
}

/** A test webhook's attempt, with the text that was sent. */
export type WebhookTestAttempt = Attempt & { body: string };

export type Classification = Pick<Attempt, 'outcome' | 'error' | 'errorDetail'>;

/** An attempt that has got no answer yet. */
export function emptyAttempt(): Attempt {
  return {
    status: null,
    outcome: 'failed',
    error: null,
    errorDetail: null,
    durationMs: 0,
    phases: { connectedMs: null, headersMs: null },
    peerAddress: null,
    responseBody: '',
    retryAfterMs: null,
  };
}

/** The status line alone decides: what a receiver says after it changes nothing. */
export function classifyStatus(status: number, location: string | string[] | undefined): Classification {
  if (status >= 200 && status < 300) return { outcome: 'delivered', error: null, errorDetail: null };
  if (status === 410) return { outcome: 'gone', error: 'http_status', errorDetail: 'answered 410 (gone)' };
  if (status >= 300 && status < 400) {
    const target = location === undefined ? '' : ` (to ${String(location)})`;
    return failure('redirect', `answered ${status}${target}; redirects are not followed`);
  }
  return failure('http_status', `answered ${status}`);
}

/** @param thrown by undici, Node's sockets, TLS or name lookup, or the address guard */
export function classifyError(thrown: unknown): Classification {
  const error: NodeJS.ErrnoException = isNativeError(thrown) ? thrown : new Error(String(thrown));
  // Of several addresses that all failed, Node's AggregateError has the code of one and no message.
  return failure(errorClass(error), error.message === '' ? (error.code ?? error.name) : error.message);
}

export function failure(error: AttemptError, detail: string): Classification {
  const errorDetail = detail.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').slice(0, 300);
  return { outcome: 'failed', error, errorDetail: errorDetail.replace(/\p{Cs}$/u, '') };
}

const BY_CODE: [RegExp, AttemptError][] = [
  [/^ERR_ADDRESS_REFUSED$/, 'address_refused'],
  [/^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/, 'timeout'],
  [/^(ENOTFOUND|ENODATA|ESERVFAIL|EAI_.*)$/, 'dns'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, 'reset'],
  // OpenSSL's verification errors (X509_V_ERR_…, less their prefix) have no name part in common.
  [/^(EPROTO|ERR_TLS_.*|ERR_SSL_.*|.*CERT.*|.*_CRL_.*|CRL_.*|UNABLE_TO_.*|HOSTNAME_MISMATCH)$/, 'tls'],
  [/^(INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED)$/, 'tls'],
  // undici's parser error mostly has no code.
  [/^(HTTPParserError|HPE_.*|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_.*)$/, 'invalid_response'],
];

function errorClass({ name, code = name, syscall = '' }: NodeJS.ErrnoException): AttemptError {
  if (/^(getaddrinfo|query)/.test(syscall)) return 'dns';
  return BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? 'network';
}
