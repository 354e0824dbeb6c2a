import { z } from 'zod';
import { HOUR, MINUTE, SECOND, bytes, httpUrl, integer, milliseconds, setting } from './setting';

/** Headers that HTTP or this API already uses. */
const RESERVED_HEADERS =
  /^(allow|cache-control|connection|content-.*|date|idempotency-.*|keep-alive|location|order-source|ratelimit.*|retry-after|set-cookie|trailer|transfer-.*|upgrade|vary|www-authenticate|x-request-id)$/i;

const RESERVED_PATH = /^\/(pay|docs|health|openapi\.json)(\/|$)/i;

/** Base paths; none lies below another, because its last segments would be taken for an ID. */
const basePaths = z
  .string()
  .default('/api/lending/edge/ecommerce')
  .transform((list, context) => {
    const paths = list.split(',').map((path) => path.trim());
    const lower = paths.map((path) => `${path.toLowerCase()}/`);
    const overlaps = lower.some((path, index) => lower.some((other, at) => at !== index && path.startsWith(other)));
    if (!paths.every((path) => /^(\/[A-Za-z0-9][\w.~-]*)+$/.test(path))) {
      context.addIssue('must be paths such as /api/shop, separated by commas, without a slash at the end');
    } else if (paths.some((path) => RESERVED_PATH.test(path))) {
      context.addIssue('must not start with /pay, /docs, /health or /openapi.json');
    } else if (overlaps) {
      context.addIssue('must not contain a path twice or below another path');
    }
    return paths;
  });

const http = z
  .object({
    // The seller documentation promises 64 KiB.
    maxBodyBytes: setting(
      'MAX_BODY_BYTES',
      bytes(65_536, 1_048_576).default(65_536),
      'Largest request body, uncompressed.',
    ),
    maxHeaderBytes: setting(
      'MAX_HEADER_BYTES',
      bytes(4096, 1_048_576).default(16_384),
      'Largest request line and headers together.',
    ),
    maxConnections: setting(
      'MAX_CONNECTIONS',
      integer(1, 1_000_000).default(10_000),
      'Open connections per process. Further connections are refused.',
    ),
    headersTimeoutMs: setting(
      'HEADERS_TIMEOUT_MS',
      milliseconds(100, 10 * MINUTE).default(10 * SECOND),
      'Time for all request headers to arrive. At most `REQUEST_TIMEOUT_MS`.',
    ),
    requestTimeoutMs: setting(
      'REQUEST_TIMEOUT_MS',
      milliseconds(100, 10 * MINUTE).default(20 * SECOND),
      'Time for the whole request to arrive.',
    ),
    keepAliveTimeoutMs: setting(
      'KEEP_ALIVE_TIMEOUT_MS',
      milliseconds(1000, HOUR).default(65 * SECOND),
      "Time that an idle connection stays open. Set it above the load balancer's idle timeout.",
    ),
    // The lower bound exceeds the longest time that a call may take.
    stallTimeoutMs: setting(
      'STALL_TIMEOUT_MS',
      milliseconds(75 * SECOND, HOUR).default(90 * SECOND),
      'Time without traffic after which a connection is closed.',
    ),
  })
  .refine(({ headersTimeoutMs, requestTimeoutMs }) => headersTimeoutMs <= requestTimeoutMs, {
    path: ['headersTimeoutMs'],
    error: 'must be at most REQUEST_TIMEOUT_MS',
  });

export const httpSettings = {
  api: z.object({
    basePaths: setting(
      'API_BASE_PATHS',
      basePaths,
      'Prefixes of all calls that need a key, separated by commas. All are served alike; OpenAPI documents the first. ' +
        'Keep the default in the list if shops use the [TypeScript client](../sellers/clients.md#typescript).',
    ),
    publicUrl: setting(
      'API_PUBLIC_URL',
      httpUrl()
        .regex(/^[^/]+\/\/[^\\/?#@]+\/*$/, 'must be an http(s) URL without a path')
        .transform((url) => url.replace(/\/+$/, ''))
        .optional(),
      'URL of the API as sellers see it, without any path: the server in OpenAPI, and the start of the `type` of errors.',
    ),
    supportContact: setting(
      'SUPPORT_CONTACT',
      z.union([z.email(), httpUrl()], 'must be an email address or an http(s) URL').optional(),
      'Email address or URL of your support: the contact in OpenAPI.',
    ),
  }),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    integer(0, 10).default(0),
    'Number of proxies in front that append to `X-Forwarded-For`. If it is too low, all callers share one address.',
  ),
  http,
  responseHmacHeader: setting(
    'RESPONSE_HMAC_HEADER',
    z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be a header name')
      .refine((name) => !RESERVED_HEADERS.test(name), 'must not be a header that HTTP or this API already uses')
      .optional(),
    'Response header that carries a base64 HMAC-SHA256 of the body, keyed by the API key of the request. ' +
      'For shop plugins that [verify it](../sellers/going-live.md#signed-responses).',
  ),
};

const perDay = (name: string, orders: number, gigabytes: number, accounts: string) =>
  z.object({
    orders: setting(
      `${name}ORDERS_PER_DAY`,
      integer(0, 2_147_483_647, 'orders').default(orders),
      `New orders of one ${accounts} a day (UTC), unless it has a limit of its own (\`seller update --orders-per-day\`).`,
    ),
    bytes: setting(
      `${name}ORDER_BYTES_PER_DAY`,
      bytes(0, Number.MAX_SAFE_INTEGER).default(gigabytes * 1e9),
      'Bytes of these orders, as JSON (`seller update --bytes-per-day`).',
    ),
  });

const requests = () => integer(1, 1e9, 'requests');

export const rateLimitSettings = {
  quotas: z.object({
    live: perDay('', 1_000_000, 5, 'account'),
    sandbox: perDay('SANDBOX_', 20_000, 0.2, 'sandbox account'),
  }),
  rateLimits: z.object({
    windowMs: setting(
      'RATE_LIMIT_WINDOW_MS',
      milliseconds(1000, HOUR).default(10 * SECOND),
      'Window of the limits below. Each API process counts for itself, in 2 KB of memory for each client of a window: N processes let through up to N times a limit.',
    ),
    key: setting(
      'RATE_LIMIT_KEY',
      requests().default(1000),
      'Limit for one seller key, unless the account has a limit of its own (`seller update --rate-limit`).',
    ),
    checkoutKey: setting(
      'RATE_LIMIT_CHECKOUT_KEY',
      requests().default(100_000),
      'Limit for one checkout key. It serves the customers of all sellers.',
    ),
    address: setting(
      'RATE_LIMIT_ADDRESS',
      requests().default(1000),
      'Limit for requests without a valid key or pay link, from one address (IPv6: one /64).',
    ),
    payLink: setting(
      'RATE_LIMIT_PAY_LINK',
      requests().default(100),
      'Limit for requests for one pay link from one address (IPv6: one /64). Ten times as many from all together; the browser that submitted the application has as many of its own.',
    ),
  }),
};
