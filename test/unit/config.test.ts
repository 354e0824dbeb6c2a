import { ConfigError, loadCheckoutBaseUrl, loadConfig, loadDatabaseConfig, loadWorkflowConfig } from '../../src/config';
import { listSettings } from '../../tools/docs/settings-page';

const REQUIRED = {
  DATABASE_URL: 'postgres://orders:hunter2@db.example:5432/orders',
  CHECKOUT_BASE_URL: 'https://checkout.example',
};

/** The lines of the ConfigError, without its heading. */
function errorLines(env: Record<string, string | undefined>): string[] {
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
const namesIn = (lines: string[]) => lines.map((line) => line.split(' ')[0]);

test('only the database and the checkout base URL are required', () => {
  expect(loadConfig(REQUIRED)).toMatchObject({
    production: true,
    host: '127.0.0.1',
    port: 3000,
    databaseUrl: REQUIRED.DATABASE_URL,
    checkoutBaseUrl: 'https://checkout.example',
    api: { basePaths: ['/api/lending/edge/ecommerce'] },
    trustedProxies: 0,
    http: { maxBodyBytes: 65_536, keepAliveTimeoutMs: 65_000 },
    rateLimits: { windowMs: 10_000, key: 1000, checkoutKey: 100_000, address: 1000, payLink: 100 },
    hostedCheckout: { enabled: false, sandboxReferralMs: 20_000, applicationRetentionMs: 30 * 86_400_000 },
    maxAmountPence: 1_000_000_000,
    orderExpiresAfterMs: undefined,
    webhookSchedule: {
      delaysMs: [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * 1000),
    },
    addressPolicy: { allowPrivate: false, allowHttp: false },
  });
});

test('a missing setting is reported as missing', () => {
  expect(errorLines({})).toEqual(['DATABASE_URL is missing', 'CHECKOUT_BASE_URL is missing']);
});

test('an empty variable counts as unset', () => {
  expect(loadConfig({ ...REQUIRED, PORT: '', ORDER_EXPIRES_AFTER_MS: '' }).port).toBe(3000);
  expect(errorLines({ ...REQUIRED, DATABASE_URL: '' })).toEqual(['DATABASE_URL is missing']);
});

test('a worker of the checkout alone needs a hosted checkout', () => {
  expect(errorLines({ ...REQUIRED, WORKER_QUEUES: 'checkout' })).toEqual([
    'WORKER_QUEUES is only checkout, but there is no hosted checkout: set HOSTED_CHECKOUT=true',
  ]);
  const config = loadConfig({ ...REQUIRED, WORKER_QUEUES: 'checkout', HOSTED_CHECKOUT: 'true' });
  expect(config.workerQueues).toEqual(['checkout']);
});

const INVALID: Record<string, string> = {
  NODE_ENV: 'live',
  LOG_LEVEL: 'loud',
  HOST: 'x86_64-conda-linux-gnu',
  PORT: '70000',
  WORKER_HEALTH_PORT: '-1',
  METRICS_ADDRESS: 'nowhere',
  SHUTDOWN_DELAY_MS: '600001',
  SHUTDOWN_GRACE_MS: '-1',
  DATABASE_URL: 'mysql://orders:hunter2@db.example/orders',
  DATABASE_POOL_SIZE: '0',
  ENCRYPTION_KEYS: 'k1:short',
  ENCRYPT_PAYLOADS: 'yes',
  CODEC_SERVER_PORT: '-1',
  CODEC_SERVER_ORIGIN: 'temporal.example',
  TRUSTED_PROXIES: '127.0.0.1',
  API_BASE_PATHS: '/api/',
  API_PUBLIC_URL: 'orders.example',
  SUPPORT_CONTACT: 'support',
  KEEP_ALIVE_TIMEOUT_MS: '-1',
  RESPONSE_HMAC_HEADER: 'Content-Length',
  MAIL_URL: 'https://mail.example',
  MAIL_FROM: 'Orders',
  ORDERS_PER_DAY: '-1',
  SANDBOX_ORDERS_PER_DAY: 'many',
  RATE_LIMIT_KEY: '0',
  RATE_LIMIT_ADDRESS: '-1',
  RATE_LIMIT_PAY_LINK: '0',
  CHECKOUT_BASE_URL: 'checkout.example',
  HOSTED_CHECKOUT: 'sandbox',
  CHECKOUT_LENDER_NAME: 'x'.repeat(101),
  CHECKOUT_PRIVACY_URL: 'privacy',
  CHECKOUT_TERMS_URL: 'ftp://terms.example',
  CHECKOUT_CREDIT_AGREEMENT_URL: 'agreement',
  SANDBOX_REFERRAL_MS: '-1',
  APPLICATION_RETENTION_MS: '0',
  MAX_ORDER_AMOUNT: '0.001',
  ORDER_EXPIRES_AFTER_MS: '10',
  UPDATE_TIMEOUT_MS: '1e9',
  MAX_CACHED_WORKFLOWS: '-1',
  WORKER_QUEUES: 'orders,payments',
  WEBHOOK_RETRY_DELAYS: '0;5',
  WEBHOOK_CONCURRENCY: '0',
  WEBHOOK_CONCURRENCY_PER_SELLER: '-1',
  WEBHOOK_RETENTION_DAYS: '0',
  ORDER_RETENTION_DAYS: 'never',
  SANDBOX_RETENTION_DAYS: '1.5',
  WEBHOOK_ALLOW_PRIVATE: 'yes',
  WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION: 'no',
};

test('every setting that has rules is tested with an invalid value', () => {
  const names = listSettings().map(({ env }) => env);
  expect(Object.keys(INVALID).sort()).toEqual(names.sort());
});

test('all invalid settings are reported together, by name', () => {
  expect(namesIn(errorLines(INVALID)).sort()).toEqual(Object.keys(INVALID).sort());
});

test('MAIL_URL needs MAIL_FROM', () => {
  const env = { ...REQUIRED, MAIL_URL: 'smtps://user:hunter2@mail.example' };
  expect(errorLines(env)).toEqual(['MAIL_FROM must be set with MAIL_URL']);
  expect(loadConfig({ ...env, MAIL_FROM: 'no-reply@pay.example' }).mail).toEqual({
    url: env.MAIL_URL,
    from: 'no-reply@pay.example',
  });
});

test.each([
  ['https://orders.example/', 'https://orders.example'],
  ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
])('API_PUBLIC_URL=%s is accepted', (url, expected) => {
  expect(loadConfig({ ...REQUIRED, API_PUBLIC_URL: url }).api.publicUrl).toBe(expected);
});

test.each(['https://orders.example/api', 'https://orders.example/?a=b', 'https://orders.example#a', 'https://a@b'])(
  'API_PUBLIC_URL=%s is refused: the paths of responses start at the root',
  (url) => {
    expect(errorLines({ ...REQUIRED, API_PUBLIC_URL: url })).toEqual([
      'API_PUBLIC_URL must be an http(s) URL without a path',
    ]);
  },
);

const NOT_PATHS = 'must be paths such as /api/shop, separated by commas, without a slash at the end';
const RESERVED_PATH = 'must not start with /pay, /docs, /health or /openapi.json';
const OVERLAP = 'must not contain a path twice or below another path';

test.each([
  ['/api/shop/', NOT_PATHS],
  ['api/shop', NOT_PATHS],
  ['/', NOT_PATHS],
  ['/api,', NOT_PATHS],
  ['/api/../pay', NOT_PATHS],
  ['/api/:seller', NOT_PATHS],
  ['https://orders.example/api', NOT_PATHS],
  ['/PAY/shop', RESERVED_PATH],
  ['/health', RESERVED_PATH],
  ['/openapi.json', RESERVED_PATH],
  ['/api,/API', OVERLAP],
  ['/api/order,/api', OVERLAP],
])('API_BASE_PATHS=%s is refused', (paths, reason) => {
  expect(errorLines({ ...REQUIRED, API_BASE_PATHS: paths })).toEqual([`API_BASE_PATHS ${reason}`]);
});

test.each([
  ['/payments', ['/payments']],
  ['/api/lending/edge/ecommerce, /api/iwocapay/ecommerce', ['/api/lending/edge/ecommerce', '/api/iwocapay/ecommerce']],
  ['/api/v1.0,/api/v1.0-beta', ['/api/v1.0', '/api/v1.0-beta']],
])('API_BASE_PATHS=%s is accepted', (paths, expected) => {
  expect(loadConfig({ ...REQUIRED, API_BASE_PATHS: paths }).api.basePaths).toEqual(expected);
});

test.each(['0.0.0.0:9464', 'metrics.internal:80', '[::]:9464'])('METRICS_ADDRESS=%s is accepted', (address) => {
  expect(loadConfig({ ...REQUIRED, METRICS_ADDRESS: address }).metricsAddress).toBe(address);
});

test.each([
  ['METRICS_ADDRESS', '127.0.0.1:70000', 'must be host:port'],
  ['MAX_ORDER_AMOUNT', '-1', 'must be an amount in pounds above 0, with at most 2 decimals'],
])('the error for %s=%s states the rule', (name, value, rule) => {
  expect(errorLines({ ...REQUIRED, [name]: value })).toEqual([`${name} ${rule}`]);
});

test.each([
  'https://pay.example/?a=b',
  'https://pay.example/shop?',
  'https://pay.example#a',
  'https://user:word@pay.example',
  String.raw`https://pay.example\shop`,
])('CHECKOUT_BASE_URL=%s is refused: a path is appended to it', (url) => {
  expect(errorLines({ ...REQUIRED, CHECKOUT_BASE_URL: url })).toEqual([
    'CHECKOUT_BASE_URL must have no user name, query or fragment',
  ]);
});

test('CHECKOUT_BASE_URL is normalized, so that links to it have no blanks and no dot segments', () => {
  const { checkoutBaseUrl } = loadConfig({ ...REQUIRED, CHECKOUT_BASE_URL: ' https://Shop.example:443/a b/../c d/' });
  expect(checkoutBaseUrl).toBe('https://shop.example/c%20d');
});

describe.each(['CHECKOUT_BASE_URL', 'API_PUBLIC_URL'])('%s over plain http', (name) => {
  const urls = ['http://shop.example', 'http://10.0.0.1', 'http://localhost.example', 'HTTP://127.0.0.1.example'];

  test.each(urls)('is refused in production for %s', (url) => {
    expect(errorLines({ ...REQUIRED, [name]: url })).toEqual([
      `${name} must use https, except on this machine, unless NODE_ENV=development`,
    ]);
    expect(errorLines({ ...REQUIRED, NODE_ENV: 'development', [name]: url })).toEqual([]);
  });

  test.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]'])('is accepted for %s', (url) => {
    expect(errorLines({ ...REQUIRED, [name]: url })).toEqual([]);
  });
});

test('an error never contains a value, which may be a secret', () => {
  const text = errorLines(INVALID).join('\n');
  for (const value of ['hunter2', 'db.example', 'loud', '70000', 'nowhere', '1e9', '0;5', 'checkout.example']) {
    expect(text).not.toContain(value);
  }
});

describe('webhooks to private addresses', () => {
  const production = REQUIRED;

  test('are allowed in production only by two settings', () => {
    const lines = errorLines({ ...production, WEBHOOK_ALLOW_PRIVATE: 'true' });
    expect(namesIn(lines)).toEqual(['WEBHOOK_ALLOW_PRIVATE']);
    expect(lines[0]).toContain('WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION=true');
    const both = { ...production, WEBHOOK_ALLOW_PRIVATE: '1', WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION: '1' };
    expect(loadConfig(both).addressPolicy).toEqual({ allowPrivate: true, allowHttp: true });
  });

  test('the missing second setting is reported together with other invalid settings', () => {
    const lines = errorLines({ WEBHOOK_ALLOW_PRIVATE: 'true', PORT: 'x' });
    expect(namesIn(lines).sort()).toEqual(['CHECKOUT_BASE_URL', 'DATABASE_URL', 'PORT', 'WEBHOOK_ALLOW_PRIVATE']);
  });

  test('are allowed in other environments by one setting', () => {
    const config = loadConfig({ ...REQUIRED, NODE_ENV: 'development', WEBHOOK_ALLOW_PRIVATE: 'true' });
    expect(config.addressPolicy).toEqual({ allowPrivate: true, allowHttp: true });
  });
});

test('values are converted to the units of the code', () => {
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

test.each(['5,300', '0.5', '0.0,5', '0,'])('WEBHOOK_RETRY_DELAYS cannot be %j', (delays) => {
  expect(errorLines({ ...REQUIRED, WEBHOOK_RETRY_DELAYS: delays })).toEqual([
    expect.stringContaining('WEBHOOK_RETRY_DELAYS must be 0, then further seconds'),
  ]);
});

test('DATABASE_URL can be a postgresql:// URL', () => {
  const { databaseUrl } = loadConfig({ ...REQUIRED, DATABASE_URL: 'postgresql://db/orders' });
  expect(databaseUrl).toBe('postgresql://db/orders');
});

describe('loaders for a part of the settings', () => {
  test('return the same values as the loader of all settings', () => {
    const env = { ...REQUIRED, NODE_ENV: 'test', UPDATE_TIMEOUT_MS: '500' };
    const whole = loadConfig(env);
    expect(whole).toMatchObject({ ...loadDatabaseConfig(env), ...loadWorkflowConfig(env) });
    expect(loadDatabaseConfig(env)).toEqual({
      production: false,
      logLevel: 'info',
      databaseUrl: REQUIRED.DATABASE_URL,
    });
    expect(loadWorkflowConfig(env)).toEqual({ updateTimeoutMs: 500, startTimeoutMs: 10_000, encryptPayloads: false });
    expect(loadCheckoutBaseUrl(env)).toBe(whole.checkoutBaseUrl);
  });

  test('report only their own settings', () => {
    expect(() => loadDatabaseConfig({ PORT: 'x' })).toThrow(/^Invalid configuration:\n {2}DATABASE_URL is missing$/);
    expect(() => loadWorkflowConfig({ UPDATE_TIMEOUT_MS: 'soon' })).toThrow(ConfigError);
    expect(() => loadCheckoutBaseUrl({})).toThrow(/CHECKOUT_BASE_URL is missing$/);
  });
});

test.each([
  ['[::]', '::'],
  ['localhost', 'localhost'],
])('HOST=%s listens on %s', (HOST, host) => {
  expect(loadConfig({ ...REQUIRED, HOST }).host).toBe(host);
});
