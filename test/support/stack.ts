import { randomBytes, randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Db } from '../../src/db/pool';
import { insertWebhookSecret } from '../../src/db/secrets';
import { insertSeller, updateSeller } from '../../src/db/sellers';
import { NO_KEYS, createCheckoutKey, createSellerKey } from './keys';
import { type KeyRing, createKeyRing } from '../../src/encryption/key-ring';
import { createLogger } from '../../src/logger';
import type * as server from '../../src/server';
import type * as connection from '../../src/temporal/connection';
import type * as payloadCodec from '../../src/temporal/payload-codec';
import type * as runtime from '../../src/temporal/runtime';
import type * as setUp from '../../src/temporal/server';
import { generateWebhookSecret } from '../../src/webhooks/sign';
import type * as worker from '../../src/worker';
import { type Api, apiOf } from './api';
import { constants, loadTestConfig } from './constants';
import { createDatabase } from './database';
import { type Scope, useResource } from './use-resource';

export const log = createLogger(process.env.TEST_LOG_LEVEL ?? 'silent', 'test');
let runtimeInstalled = false;

export interface TestSeller {
  id: string;
  key: string;
  webhookSecret: string;
}

/** Settings that make tests fast. */
export const QUICK = {
  NODE_ENV: 'test',
  HOST: '127.0.0.1',
  PORT: '0',
  WORKER_HEALTH_PORT: '0',
  CHECKOUT_BASE_URL: 'https://checkout.example',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  ...constants({}),
  SHUTDOWN_GRACE_MS: '2000',
  RATE_LIMIT_KEY: '1000000',
  RATE_LIMIT_ADDRESS: '1000000',
  SANDBOX_ORDERS_PER_DAY: '1000000',
};

/** The service that test files share: see `useSharedStack`. */
export interface SharedStack {
  api: Api;
  db: Db;
  databaseUrl: string;
  client: Client;
  temporal: ClientConnectConfig;
  seller: TestSeller;
  /** The settings of this service, also for processes that join it. */
  env: Record<string, string>;
}

export interface Stack extends SharedStack {
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  stop(): Promise<void>;
}

export interface StackOptions {
  env?: Record<string, string>;
  worker?: boolean;
  /** Whether the stack's seller has a sandbox account. Default: false. */
  sandbox?: boolean;
  /** Temporal's host:port. Default: the test run's server. */
  address?: string;
}

/**
 * The modules that import Temporal's SDK. Jest loads a module again for each test file, and the SDK takes a second of
 * processor time: files that use the shared stack do without it.
 */
/* eslint-disable @typescript-eslint/no-require-imports */
const loadApi = () => ({
  ...(require('../../src/server') as typeof server),
  ...(require('../../src/temporal/connection') as typeof connection),
  ...(require('../../src/temporal/payload-codec') as typeof payloadCodec),
  ...(require('../../src/temporal/server') as typeof setUp),
});
const loadWorker = () => ({
  ...(require('../../src/worker') as typeof worker),
  ...(require('../../src/temporal/runtime') as typeof runtime),
});
/* eslint-enable @typescript-eslint/no-require-imports */

/** Starts the API, and unless `worker` is false a worker, in this process, with a new database and namespace. */
export async function startStack({
  env = {},
  worker: hasWorker = true,
  sandbox = false,
  address = process.env.TEST_TEMPORAL_ADDRESS!,
}: StackOptions = {}): Promise<Stack> {
  const database = await createDatabase();
  const temporal = { connectionOptions: { address }, namespace: `test-${randomBytes(6).toString('hex')}` };
  const allEnv = {
    ...QUICK,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    ...env,
  };
  const config = loadTestConfig(allEnv);
  const { createTemporalClient, payloadCodecs, ensureNamespace, startServer } = loadApi();
  const client = createTemporalClient(temporal, payloadCodecs(config));
  await ensureNamespace(client);
  const api = await startServer(config, temporal, log);
  const keys = createKeyRing(config.encryptionKeys);
  const seller = await createSeller(database.db, undefined, { sandbox, keys });
  const checkoutKey = await createCheckoutKey(database.db);
  let running: Awaited<ReturnType<typeof worker.startWorker>> | undefined;
  const stack: Stack = {
    api: apiOf(`http://127.0.0.1:${api.port}`, seller, checkoutKey),
    db: database.db,
    databaseUrl: database.url,
    client,
    temporal,
    seller,
    env: allEnv,
    async startWorker() {
      const { installTemporalRuntime, startWorker } = loadWorker();
      // Temporal's runtime exists once per process.
      if (!runtimeInstalled) installTemporalRuntime(log, undefined);
      runtimeInstalled = true;
      running = await startWorker(config, temporal, log);
    },
    async stopWorker() {
      await running?.stop();
      running = undefined;
    },
    async stop() {
      await api.stop();
      await stack.stopWorker();
      await client.connection.close();
      await database.drop();
    },
  };
  if (hasWorker) await stack.startWorker();
  return stack;
}

/** A service of their own for the tests of a file, or a new one for each test. Prefer `useSharedStack`. */
export function useStack(options?: StackOptions, scope?: Scope): Stack {
  return useResource(
    () => startStack(options),
    (stack) => stack.stop(),
    scope,
  );
}

export async function createSeller(
  db: Db,
  defaultRedirectUrl: string | null = 'https://shop.example/done',
  { sandbox = false, keys = NO_KEYS }: { sandbox?: boolean; keys?: KeyRing } = {},
): Promise<TestSeller> {
  const id = randomUUID();
  const webhookSecret = generateWebhookSecret();
  await insertSeller(db, id, 'Test Shop Ltd', sandbox);
  await updateSeller(db, id, { defaultRedirectUrl });
  await insertWebhookSecret(db, keys, id, webhookSecret);
  return { id, key: await createSellerKey(db, id), webhookSecret };
}
