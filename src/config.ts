import { z } from 'zod';
import { poundsToPence } from './domain/money';
import type { RetrySchedule } from './domain/retry-schedule';
import { STANDARD_SCHEDULE } from './domain/retry-schedule';
import type { AddressPolicy } from './webhooks/webhook-url';

const DAY_MS = 86_400_000;

const integer = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const ms = (min: number, max: number) => integer(min, max);
const flag = z.enum(['true', 'false', '1', '0']).transform((value) => value === 'true' || value === '1');

const seconds = z
  .string()
  .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?)*$/, 'must be seconds with commas between, such as 0,5,300')
  .transform((list) => list.split(',').map((item) => Math.round(Number(item) * 1000)));

const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
  .transform((url) => url.replace(/\/+$/, ''));

/** What HTTP and this API give a meaning of their own. */
const OWN_HEADERS =
  /^(allow|cache-control|connection|content-.*|date|idempotency-.*|keep-alive|location|order-source|ratelimit.*|retry-after|set-cookie|trailer|transfer-.*|upgrade|vary|www-authenticate|x-request-id)$/i;

const settings = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  HOST: z.string().default('127.0.0.1'),
  PORT: integer(0, 65_535).default(3000),
  WORKER_HEALTH_PORT: integer(0, 65_535).default(3001),
  METRICS_ADDRESS: z
    .string()
    .regex(/^[^\s:]+:\d+$/, 'must be host:port')
    .optional(),
  TRUSTED_PROXIES: integer(0, 10).default(0),
  // Sellers are promised 64 KiB.
  MAX_BODY_BYTES: integer(65_536, 16_777_216).default(65_536),
  MAX_HEADER_BYTES: integer(4096, 1_048_576).default(16_384),
  MAX_CONNECTIONS: integer(1, 1_000_000).default(10_000),
  HEADERS_TIMEOUT_MS: ms(100, 600_000).default(10_000),
  REQUEST_TIMEOUT_MS: ms(100, 600_000).default(20_000),
  KEEP_ALIVE_TIMEOUT_MS: ms(1000, 3_600_000).default(65_000),
  // Longer than any call may take.
  STALL_TIMEOUT_MS: ms(65_000, 3_600_000).default(90_000),
  RATE_LIMIT_WINDOW_MS: ms(1000, 3_600_000).default(10_000),
  RATE_LIMIT_KEY: integer(1, 1e9).default(1000),
  RATE_LIMIT_ADDRESS: integer(1, 1e9).default(5000),
  RATE_LIMIT_AUTH_FAILURES: integer(1, 1e9).default(20),
  RATE_LIMIT_PAY_LINK: integer(1, 1e9).default(100),
  RESPONSE_HMAC_HEADER: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be the name of a header')
    .refine((name) => !OWN_HEADERS.test(name), 'must be a header of its own: this one has another meaning')
    .optional(),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }),
  DATABASE_POOL_SIZE: integer(1, 1000).default(20),
  CHECKOUT_BASE_URL: baseUrl,
  CHECKOUT_LENDER: z.enum(['none', 'sandbox']).default('none'),
  SANDBOX_REFERRAL_MS: ms(0, 86_400_000).default(20_000),
  APPLICATION_RETENTION_MS: ms(1000, 3660 * DAY_MS).default(30 * DAY_MS),
  MAX_ORDER_AMOUNT: z.coerce
    .number()
    .refine((pounds) => (poundsToPence(pounds) ?? 0) > 0 && pounds < 1e12, 'must be pounds, more than 0')
    .default(10_000_000),
  // Sellers are promised 30.
  IDEMPOTENCY_KEY_DAYS: integer(30, 3650).default(30),
  ORDER_EXPIRES_AFTER_MS: ms(1000, 366 * 86_400_000).optional(),
  QUERY_BUDGET_MS: ms(1, 10_000).default(150),
  UPDATE_TIMEOUT_MS: ms(100, 60_000).default(10_000),
  START_TIMEOUT_MS: ms(100, 60_000).default(10_000),
  STARTS_IN_FLIGHT: integer(1, 1000).default(20),
  SWEEP_INTERVAL_MS: ms(50, 600_000).default(5000),
  SWEEP_START_AFTER_MS: ms(0, 600_000).default(20_000),
  SWEEP_CHECK_AFTER_MS: ms(50, 86_400_000).default(600_000),
  SHUTDOWN_GRACE_MS: ms(0, 600_000).default(20_000),
  MAX_CACHED_WORKFLOWS: integer(0, 100_000).default(500),
  WEBHOOK_RETRY_DELAYS: seconds.optional(),
  WEBHOOK_RETRY_JITTER: z.coerce.number().min(0).max(0.5).default(STANDARD_SCHEDULE.jitter),
  WEBHOOK_ATTEMPTS_WITH_SUCCESSOR: integer(1, 100).default(STANDARD_SCHEDULE.attemptsWithSuccessor),
  WEBHOOK_RETRY_AFTER_LIMIT_MS: ms(0, 86_400_000).default(STANDARD_SCHEDULE.maxRetryAfterMs),
  WEBHOOK_RETRY_AFTER_LIMIT_WITH_SUCCESSOR_MS: ms(0, 86_400_000).default(
    STANDARD_SCHEDULE.maxRetryAfterWithSuccessorMs,
  ),
  WEBHOOK_TIMEOUT_MS: ms(100, 15_000).default(15_000),
  WEBHOOK_CONCURRENCY: integer(1, 10_000).default(100),
  WEBHOOK_CONCURRENCY_PER_SELLER: integer(1, 10_000).default(10),
  WEBHOOK_ALLOW_PRIVATE: flag.default(false),
  WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION: flag.default(false),
});

const databaseSettings = settings.pick({ NODE_ENV: true, LOG_LEVEL: true, DATABASE_URL: true });
const workflowSettings = settings.pick({ UPDATE_TIMEOUT_MS: true, START_TIMEOUT_MS: true });
const checkoutSettings = settings.pick({ CHECKOUT_BASE_URL: true });

const environment = settings
  .refine(
    (env) => env.NODE_ENV !== 'production' || !env.WEBHOOK_ALLOW_PRIVATE || env.WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION,
    {
      path: ['WEBHOOK_ALLOW_PRIVATE'],
      error:
        'lets sellers reach this network; in production it must be said twice, with WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION=true',
      // Beside what else is wrong, not after it.
      when: () => true,
    },
  )
  .refine((env) => env.HEADERS_TIMEOUT_MS <= env.REQUEST_TIMEOUT_MS, {
    path: ['HEADERS_TIMEOUT_MS'],
    error: 'must be at most REQUEST_TIMEOUT_MS, of which it is a part',
  });

/** What every process that has business with Postgres needs. */
export interface DatabaseConfig {
  production: boolean;
  logLevel: string;
  databaseUrl: string;
}

/** What a process needs that calls workflows. Times in ms. */
export interface WorkflowConfig {
  updateTimeoutMs: number;
  startTimeoutMs: number;
}

/** All settings of the service; Temporal's own are read by `@temporalio/envconfig`. Times in ms. */
export interface Config extends DatabaseConfig, WorkflowConfig {
  host: string;
  port: number;
  workerHealthPort: number;
  /** `host:port` on which a worker serves Prometheus metrics. */
  metricsAddress: string | undefined;
  /** Proxies in front, whose word on who calls is taken. */
  trustedProxies: number;
  /** What a request and its connection may take, before the API looks at it. */
  http: {
    maxBodyBytes: number;
    maxHeaderBytes: number;
    maxConnections: number;
    headersTimeoutMs: number;
    requestTimeoutMs: number;
    keepAliveTimeoutMs: number;
    stallTimeoutMs: number;
  };
  /** Requests in a window: with one key, from one address, from one with keys that are refused, and with one pay link. */
  rateLimits: { windowMs: number; key: number; address: number; authFailures: number; payLink: number };
  /** Carries base64 HMAC-SHA256 of each authenticated answer's body; none by default. */
  responseHmacHeader: string | undefined;
  databasePoolSize: number;
  checkoutBaseUrl: string;
  hostedCheckout: {
    /** Who decides on customers; without a lender the pages are not served. */
    lender: 'none' | 'sandbox';
    sandboxReferralMs: number;
    applicationRetentionMs: number;
  };
  maxAmountPence: number;
  /** For how long Idempotency-Keys are kept. */
  idempotencyKeyDays: number;
  orderExpiresAfterMs: number | undefined;
  queryBudgetMs: number;
  startsInFlight: number;
  sweep: { intervalMs: number; startAfterMs: number; checkAfterMs: number };
  shutdownGraceMs: number;
  maxCachedWorkflows: number;
  webhookSchedule: RetrySchedule;
  webhookTimeoutMs: number;
  /** Attempts that one worker makes at once: in all, and for one seller. */
  webhookConcurrency: { total: number; perSeller: number };
  addressPolicy: AddressPolicy;
}

/** Names every setting that is missing or wrong, never its value: it may be a secret. */
export class ConfigError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The loaders of a part are for what needs no more: what else is missing or wrong is not its business. */
export function loadDatabaseConfig(env: Environment): DatabaseConfig {
  return toDatabaseConfig(read(databaseSettings, env));
}

export function loadWorkflowConfig(env: Environment): WorkflowConfig {
  return toWorkflowConfig(read(workflowSettings, env));
}

export function loadCheckoutBaseUrl(env: Environment): string {
  return read(checkoutSettings, env).CHECKOUT_BASE_URL;
}

export function loadConfig(env: Environment): Config {
  const data = read(environment, env);
  return {
    ...toDatabaseConfig(data),
    ...toWorkflowConfig(data),
    host: data.HOST,
    port: data.PORT,
    workerHealthPort: data.WORKER_HEALTH_PORT,
    metricsAddress: data.METRICS_ADDRESS,
    trustedProxies: data.TRUSTED_PROXIES,
    http: {
      maxBodyBytes: data.MAX_BODY_BYTES,
      maxHeaderBytes: data.MAX_HEADER_BYTES,
      maxConnections: data.MAX_CONNECTIONS,
      headersTimeoutMs: data.HEADERS_TIMEOUT_MS,
      requestTimeoutMs: data.REQUEST_TIMEOUT_MS,
      keepAliveTimeoutMs: data.KEEP_ALIVE_TIMEOUT_MS,
      stallTimeoutMs: data.STALL_TIMEOUT_MS,
    },
    rateLimits: {
      windowMs: data.RATE_LIMIT_WINDOW_MS,
      key: data.RATE_LIMIT_KEY,
      address: data.RATE_LIMIT_ADDRESS,
      authFailures: data.RATE_LIMIT_AUTH_FAILURES,
      payLink: data.RATE_LIMIT_PAY_LINK,
    },
    responseHmacHeader: data.RESPONSE_HMAC_HEADER,
    databasePoolSize: data.DATABASE_POOL_SIZE,
    checkoutBaseUrl: data.CHECKOUT_BASE_URL,
    hostedCheckout: {
      lender: data.CHECKOUT_LENDER,
      sandboxReferralMs: data.SANDBOX_REFERRAL_MS,
      applicationRetentionMs: data.APPLICATION_RETENTION_MS,
    },
    maxAmountPence: poundsToPence(data.MAX_ORDER_AMOUNT) ?? 0,
    idempotencyKeyDays: data.IDEMPOTENCY_KEY_DAYS,
    orderExpiresAfterMs: data.ORDER_EXPIRES_AFTER_MS,
    queryBudgetMs: data.QUERY_BUDGET_MS,
    startsInFlight: data.STARTS_IN_FLIGHT,
    sweep: {
      intervalMs: data.SWEEP_INTERVAL_MS,
      startAfterMs: data.SWEEP_START_AFTER_MS,
      checkAfterMs: data.SWEEP_CHECK_AFTER_MS,
    },
    shutdownGraceMs: data.SHUTDOWN_GRACE_MS,
    maxCachedWorkflows: data.MAX_CACHED_WORKFLOWS,
    webhookSchedule: {
      delaysMs: data.WEBHOOK_RETRY_DELAYS ?? STANDARD_SCHEDULE.delaysMs,
      jitter: data.WEBHOOK_RETRY_JITTER,
      attemptsWithSuccessor: data.WEBHOOK_ATTEMPTS_WITH_SUCCESSOR,
      maxRetryAfterMs: data.WEBHOOK_RETRY_AFTER_LIMIT_MS,
      maxRetryAfterWithSuccessorMs: data.WEBHOOK_RETRY_AFTER_LIMIT_WITH_SUCCESSOR_MS,
    },
    webhookTimeoutMs: data.WEBHOOK_TIMEOUT_MS,
    webhookConcurrency: { total: data.WEBHOOK_CONCURRENCY, perSeller: data.WEBHOOK_CONCURRENCY_PER_SELLER },
    addressPolicy: {
      allowPrivate: data.WEBHOOK_ALLOW_PRIVATE,
      allowHttp: data.NODE_ENV !== 'production' || data.WEBHOOK_ALLOW_PRIVATE,
    },
  };
}

function toDatabaseConfig(data: z.infer<typeof databaseSettings>): DatabaseConfig {
  return { production: data.NODE_ENV === 'production', logLevel: data.LOG_LEVEL, databaseUrl: data.DATABASE_URL };
}

function toWorkflowConfig(data: z.infer<typeof workflowSettings>): WorkflowConfig {
  return { updateTimeoutMs: data.UPDATE_TIMEOUT_MS, startTimeoutMs: data.START_TIMEOUT_MS };
}

/** @throws ConfigError */
function read<T extends z.ZodType>(schema: T, env: Environment): z.infer<T> {
  // An empty variable is one that was not set, as in `PORT= npm start`.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const { data, error } = schema.safeParse(given, { reportInput: true });
  if (!error) return data;
  const lines = error.issues.map(({ path, message, input }) =>
    input === undefined ? `${path.join('.')}: is missing` : `${path.join('.')}: ${message}`,
  );
  throw new ConfigError(['The configuration is wrong:', ...lines].join('\n  '));
}
