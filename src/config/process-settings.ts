import { isIP } from 'node:net';
import { z } from 'zod';
import { MINUTE, SECOND, choice, integer, milliseconds, port, setting, flag } from './setting';
import { type EncryptionKey, parseKeys } from '../encryption/key-ring';

export const processSettings = {
  production: setting(
    'NODE_ENV',
    choice('development', 'test', 'production')
      .default('production')
      .transform((name) => name === 'production'),
    'In `production`, redirect URLs, `CHECKOUT_BASE_URL` and `API_PUBLIC_URL` must use https, and so must webhook URLs ' +
      'unless private addresses are allowed. `npm start` sets `development`.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
    'Least severe log level to print. Above `info`, the logs lack what a restore needs.',
  ),
  workerQueues: setting(
    'WORKER_QUEUES',
    z
      .string()
      .default('orders,webhooks,checkout')
      .transform((list) => list.split(',').map((queue) => queue.trim()))
      .refine((queues) => queues.every((queue) => ['orders', 'webhooks', 'checkout'].includes(queue)), {
        error: 'must be one or more of orders, webhooks, checkout, separated by commas',
      }),
    'Task queues that a worker serves: `orders` (workflows, saves, background jobs), `webhooks`, `checkout`.',
  ),
  host: setting(
    'HOST',
    z
      .string()
      .default('127.0.0.1')
      .transform((host) => host.replace(/^\[(.*)\]$/, '$1'))
      .refine((host) => isIP(host) !== 0 || host === 'localhost', 'must be an IP address or localhost'),
    "Address on which the API and a worker's health server listen. `::` listens on IPv6 and IPv4. The image sets it.",
  ),
  port: setting('PORT', port().default(3000), 'Port of the API.'),
  workerHealthPort: setting(
    'WORKER_HEALTH_PORT',
    port().default(3001),
    "Port of a worker's health server. The image sets `3000`.",
  ),
  metricsAddress: setting(
    'METRICS_ADDRESS',
    z
      .string()
      .refine((address) => /^[^\s/]+:\d+$/.test(address) && URL.canParse(`http://${address}`), 'must be host:port')
      .optional(),
    '`host:port` on which API and worker serve Prometheus metrics, at `/metrics`. On one machine, each process needs its own.',
  ),
  shutdownDelayMs: setting(
    'SHUTDOWN_DELAY_MS',
    milliseconds(0, 10 * MINUTE).default(0),
    'Time after SIGTERM in which the API still takes requests, while `/health/serving` returns 503. Must exceed the time in ' +
      'which the load balancer notices. The image sets `5000`.',
  ),
  shutdownGraceMs: setting(
    'SHUTDOWN_GRACE_MS',
    milliseconds(0, 10 * MINUTE).default(20 * SECOND),
    'Time for running requests and activities to end, after `SHUTDOWN_DELAY_MS`. A worker may take 20 s longer.',
  ),
};

export const databaseSettings = {
  databaseUrl: setting(
    'DATABASE_URL',
    z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }),
    '`postgres://` URL of the orders database.',
  ),
  databasePoolSize: setting(
    'DATABASE_POOL_SIZE',
    integer(1, 1000).default(20),
    'Postgres connections per process. Health checks use one more, and inserts of new orders up to a quarter more.',
  ),
};

export const mailSettings = {
  mail: z
    .object({
      url: setting(
        'MAIL_URL',
        z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// URL', abort: true }).optional(),
        'Your mail server, such as `smtps://user:password@mail.example:465`: [emails](../lenders/checkout.md#emails) to ' +
          'customers and sellers of live accounts. `smtp://` uses STARTTLS, which the server must offer unless it is on ' +
          'this machine. If unset, none are sent, and no page promises one.',
      ),
      from: setting(
        'MAIL_FROM',
        z.email('must be an email address').optional(),
        'Address that emails are sent from. Its domain needs SPF, DKIM and DMARC. Required with `MAIL_URL`.',
      ),
    })
    .refine(({ url, from }) => url === undefined || from !== undefined, {
      path: ['from'],
      error: 'must be set with MAIL_URL',
    }),
};

const keys = z
  .string()
  .default('')
  .transform((text, context): EncryptionKey[] => {
    const parsed = text === '' ? [] : parseKeys(text);
    if (parsed) return parsed;
    context.addIssue('must be id:key pairs or plain, separated by commas, where a key is 32 bytes in Base64');
    return z.NEVER;
  });

export const encryptionSettings = {
  encryptionKeys: setting(
    'ENCRYPTION_KEYS',
    keys,
    'AES-256 keys as `id:key` pairs, separated by commas; `npm run cli -- encryption new-key` prints one. The first ' +
      'encrypts webhook secrets, static headers and the secrets of the pages in Postgres. The others only decrypt. ' +
      '`plain` in the list stands for no encryption, for the time in which it is [turned on](security.md#turn-encryption-on): without it, a ' +
      'secret that is not encrypted is refused. If empty, secrets are stored as they are.',
  ),
  encryptPayloads: setting(
    'ENCRYPT_PAYLOADS',
    flag(),
    "Encrypts what Temporal stores about orders, with the same keys. Temporal's UI shows it through the codec server.",
  ),
  codecServerPort: setting('CODEC_SERVER_PORT', port().default(3002), 'Port of the codec server.'),
  codecServerOrigin: setting(
    'CODEC_SERVER_ORIGIN',
    z
      .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
      .transform((url) => new URL(url).origin)
      .optional(),
    "URL of Temporal's UI. The codec server answers browsers for no other page.",
  ),
};
