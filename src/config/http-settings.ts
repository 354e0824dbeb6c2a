import { z } from 'zod';
import { HOUR, SECOND, httpUrl, integer, milliseconds, setting } from './setting';

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
  http: z.object({
    keepAliveTimeoutMs: setting(
      'KEEP_ALIVE_TIMEOUT_MS',
      milliseconds(1000, HOUR).default(65 * SECOND),
      "Time that an idle connection stays open. Set it above the load balancer's idle timeout.",
    ),
  }),
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

const ordersPerDay = (env: string, orders: number, account: string) =>
  z.object({
    orders: setting(
      env,
      integer(0, 2_147_483_647, 'orders').default(orders),
      `New orders of one ${account} a day (UTC), unless it has a limit of its own (\`seller update --orders-per-day\`).`,
    ),
  });

const requests = () => integer(1, 1e9, 'requests');

export const rateLimitSettings = {
  quotas: z.object({
    live: ordersPerDay('ORDERS_PER_DAY', 1_000_000, 'account'),
    sandbox: ordersPerDay('SANDBOX_ORDERS_PER_DAY', 20_000, 'sandbox account'),
  }),
  rateLimits: z.object({
    key: setting(
      'RATE_LIMIT_KEY',
      requests().default(1000),
      'Requests with one seller key in ten seconds, unless the account has a limit of its own (`seller update --rate-limit`). Each ' +
        'API process counts for itself: N processes let through up to N times a limit.',
    ),
    address: setting(
      'RATE_LIMIT_ADDRESS',
      requests().default(1000),
      'Requests without a valid key or pay link in ten seconds, from one address (IPv6: one /64).',
    ),
    payLink: setting(
      'RATE_LIMIT_PAY_LINK',
      requests().default(100),
      'Requests for one pay link in ten seconds, from one address (IPv6: one /64). Ten times as many from all together; the browser that submitted the application has as many of its own.',
    ),
  }),
};
