import { ConfigError, loadCheckoutBaseUrl, loadConfig, loadDatabaseConfig, loadWorkflowConfig } from '../../src/config';

const REQUIRED = {
  DATABASE_URL: 'postgres://orders:hunter2@db.example:5432/orders',
  CHECKOUT_BASE_URL: 'https://checkout.example',
};

/** The lines that tell what is wrong with a configuration. */
function complaints(env: Record<string, string | undefined>): string[] {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
}
const namesOf = (lines: string[]) => lines.map((line) => line.split(':')[0]);

test('a database and a checkout are all that must be told', () => {
  expect(loadConfig(REQUIRED)).toMatchObject({
    production: false,
    host: '127.0.0.1',
    port: 3000,
    databaseUrl: REQUIRED.DATABASE_URL,
    checkoutBaseUrl: 'https://checkout.example',
    trustedProxies: 0,
    http: {
      maxBodyBytes: 65_536,
      maxHeaderBytes: 16_384,
      maxConnections: 10_000,
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 20_000,
      keepAliveTimeoutMs: 65_000,
      stallTimeoutMs: 90_000,
    },
    rateLimits: { windowMs: 10_000, key: 1000, address: 5000, authFailures: 20, payLink: 100 },
    hostedCheckout: { lender: 'none', sandboxReferralMs: 20_000, applicationRetentionMs: 30 * 86_400_000 },
    maxAmountPence: 1_000_000_000,
    idempotencyKeyDays: 30,
    orderExpiresAfterMs: undefined,
    queryBudgetMs: 150,
    webhookTimeoutMs: 15_000,
    addressPolicy: { allowPrivate: false, allowHttp: true },
  });
});

test('what is missing is said to be missing', () => {
  expect(complaints({})).toEqual(['DATABASE_URL: is missing', 'CHECKOUT_BASE_URL: is missing']);
});

test('an empty variable is one that was not set', () => {
  expect(loadConfig({ ...REQUIRED, PORT: '', ORDER_EXPIRES_AFTER_MS: '' }).port).toBe(3000);
  expect(complaints({ ...REQUIRED, DATABASE_URL: '' })).toEqual(['DATABASE_URL: is missing']);
});

const WRONG: Record<string, string> = {
  LOG_LEVEL: 'loud',
  PORT: '70000',
  WORKER_HEALTH_PORT: '-1',
  METRICS_ADDRESS: 'nowhere',
  TRUSTED_PROXIES: '127.0.0.1',
  MAX_BODY_BYTES: '64kb',
  MAX_HEADER_BYTES: '100',
  MAX_CONNECTIONS: '0',
  HEADERS_TIMEOUT_MS: '0',
  REQUEST_TIMEOUT_MS: 'never',
  KEEP_ALIVE_TIMEOUT_MS: '-1',
  STALL_TIMEOUT_MS: '1000',
  RATE_LIMIT_WINDOW_MS: '10',
  RATE_LIMIT_KEY: '0',
  RATE_LIMIT_ADDRESS: '-1',
  RATE_LIMIT_AUTH_FAILURES: 'none',
  RATE_LIMIT_PAY_LINK: '0',
  CHECKOUT_LENDER: 'anybody',
  SANDBOX_REFERRAL_MS: '-1',
  APPLICATION_RETENTION_MS: '0',
  RESPONSE_HMAC_HEADER: 'Content-Length',
  DATABASE_URL: 'mysql://orders:hunter2@db.example/orders',
  DATABASE_POOL_SIZE: '0',
  CHECKOUT_BASE_URL: 'checkout.example',
  MAX_ORDER_AMOUNT: '0.001',
  IDEMPOTENCY_KEY_DAYS: '29',
  ORDER_EXPIRES_AFTER_MS: '10',
  QUERY_BUDGET_MS: '1.5',
  UPDATE_TIMEOUT_MS: '1e9',
  START_TIMEOUT_MS: 'soon',
  STARTS_IN_FLIGHT: '0',
  SWEEP_INTERVAL_MS: '1',
  SWEEP_START_AFTER_MS: '-5',
  SWEEP_CHECK_AFTER_MS: 'NaN',
  SHUTDOWN_GRACE_MS: '-1',
  MAX_CACHED_WORKFLOWS: '-1',
  WEBHOOK_RETRY_DELAYS: '0;5',
  WEBHOOK_TIMEOUT_MS: '60000',
  WEBHOOK_ALLOW_PRIVATE: 'yes',
  WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION: 'no',
};

test('every wrong variable is reported at once, by its name', () => {
  expect(namesOf(complaints(WRONG)).sort()).toEqual(Object.keys(WRONG).sort());
});

test.each(Object.entries(WRONG))('a wrong %s is reported alone, and not as missing', (name, value) => {
  const lines = complaints({ ...REQUIRED, [name]: value });
  expect(namesOf(lines)).toEqual([name]);
  expect(lines[0]).not.toContain('missing');
});

test('headers, which are a part of the request, are given no longer than the whole', () => {
  expect(complaints({ ...REQUIRED, HEADERS_TIMEOUT_MS: '20001' })).toEqual([
    'HEADERS_TIMEOUT_MS: must be at most REQUEST_TIMEOUT_MS, of which it is a part',
  ]);
  expect(complaints({ ...REQUIRED, HEADERS_TIMEOUT_MS: '20000' })).toEqual([]);
});

test('no value is told: it may be a secret', () => {
  const text = complaints(WRONG).join('\n');
  for (const value of ['hunter2', 'db.example', 'loud', '70000', 'nowhere', 'soon', '0;5', 'checkout.example']) {
    expect(text).not.toContain(value);
  }
});

describe('private webhook addresses in production', () => {
  const production = { ...REQUIRED, NODE_ENV: 'production' };

  test('are refused, as is plain http', () => {
    const config = loadConfig(production);
    expect(config.production).toBe(true);
    expect(config.addressPolicy).toEqual({ allowPrivate: false, allowHttp: false });
  });

  test('must be allowed twice', () => {
    const lines = complaints({ ...production, WEBHOOK_ALLOW_PRIVATE: 'true' });
    expect(namesOf(lines)).toEqual(['WEBHOOK_ALLOW_PRIVATE']);
    expect(lines[0]).toContain('WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION=true');
    const twice = { ...production, WEBHOOK_ALLOW_PRIVATE: '1', WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION: '1' };
    expect(loadConfig(twice).addressPolicy.allowPrivate).toBe(true);
  });

  test('are reported beside what else is wrong', () => {
    const lines = complaints({ NODE_ENV: 'production', WEBHOOK_ALLOW_PRIVATE: 'true', PORT: 'x' });
    expect(namesOf(lines).sort()).toEqual(['CHECKOUT_BASE_URL', 'DATABASE_URL', 'PORT', 'WEBHOOK_ALLOW_PRIVATE']);
  });

  test('need no second word outside production', () => {
    const config = loadConfig({ ...REQUIRED, WEBHOOK_ALLOW_PRIVATE: 'true' });
    expect(config.addressPolicy).toEqual({ allowPrivate: true, allowHttp: true });
  });
});

test('settings are turned into what the code counts in', () => {
  const config = loadConfig({
    ...REQUIRED,
    CHECKOUT_BASE_URL: 'https://checkout.example/shop///',
    MAX_ORDER_AMOUNT: '0.3',
    WEBHOOK_RETRY_DELAYS: '0,0.5,300',
    ORDER_EXPIRES_AFTER_MS: '86400000',
  });
  expect(config.checkoutBaseUrl).toBe('https://checkout.example/shop');
  expect(config.maxAmountPence).toBe(30);
  expect(config.webhookSchedule.delaysMs).toEqual([0, 500, 300_000]);
  expect(config.orderExpiresAfterMs).toBe(86_400_000);
});

test('Postgres may be told as postgres:// or postgresql://', () => {
  expect(loadConfig({ ...REQUIRED, DATABASE_URL: 'postgresql://db/find-orders' }).databaseUrl).toBe(
    'postgresql://db/find-orders',
  );
});

describe('what needs only a part of the settings', () => {
  test('gets what the whole would hold', () => {
    const env = { ...REQUIRED, NODE_ENV: 'production', UPDATE_TIMEOUT_MS: '500' };
    const whole = loadConfig(env);
    expect(whole).toMatchObject({ ...loadDatabaseConfig(env), ...loadWorkflowConfig(env) });
    expect(loadDatabaseConfig(env)).toEqual({
      production: true,
      logLevel: 'info',
      databaseUrl: REQUIRED.DATABASE_URL,
    });
    expect(loadWorkflowConfig(env)).toEqual({ updateTimeoutMs: 500, startTimeoutMs: 10_000 });
    expect(loadCheckoutBaseUrl(env)).toBe(whole.checkoutBaseUrl);
  });

  test('does not mind what else is missing or wrong', () => {
    expect(loadDatabaseConfig({ DATABASE_URL: REQUIRED.DATABASE_URL, PORT: 'x' }).production).toBe(false);
    expect(loadWorkflowConfig({ DATABASE_URL: 'x' }).updateTimeoutMs).toBe(10_000);
    expect(() => loadCheckoutBaseUrl(REQUIRED)).not.toThrow();
  });

  test('is told what of it is missing or wrong, and no more', () => {
    expect(() => loadDatabaseConfig({ PORT: 'x' })).toThrow(
      /^The configuration is wrong:\n {2}DATABASE_URL: is missing$/,
    );
    expect(() => loadWorkflowConfig({ UPDATE_TIMEOUT_MS: 'soon' })).toThrow(ConfigError);
    expect(() => loadCheckoutBaseUrl({})).toThrow(/CHECKOUT_BASE_URL: is missing$/);
  });
});
