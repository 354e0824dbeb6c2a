import { randomBytes, randomUUID } from 'node:crypto';
import { createPool } from '../../../src/db/pool';
import { createCheckoutKey } from '../../support/keys';
import { createTemporalClient } from '../../../src/temporal/connection';
import { ensureNamespace } from '../../../src/temporal/server';
import { BASE } from '../../support/api';
import { startProcess } from '../../support/processes';
import { type TestSeller, createSeller } from '../../support/stack';
import { until } from '../../support/until';
import type { Servers } from '../servers';
import { createArmDatabase } from './database';
import { type Answer, expectStatus, httpClient } from './http';
import type { OrderArm } from './order-arm';

const EVENTS = ['signup_started', 'approved', 'completed'];

/** This service: an API process and a worker process with default settings, from `dist/`. */
export interface Service extends OrderArm {
  workerPid: number;
  port: number;
  seller: TestSeller;
  env: Record<string, string>;
  db: Awaited<ReturnType<typeof createArmDatabase>>['db'];
  newSeller: () => Promise<TestSeller>;
  createFor: (seller: TestSeller, webhookUrl?: string) => Promise<Answer>;
  get: (orderId: string, etag?: string) => Promise<Answer>;
  /** GET of any path, with the seller's key. */
  read: (path: string) => Promise<Answer>;
  cancel: (orderId: string, seller: TestSeller) => Promise<Answer>;
  progress: (orderId: string, event: string) => Promise<Answer>;
  /** The number of order workflows that exist, by Temporal's visibility. */
  workflows: () => Promise<number>;
  /** Waits until `count` workflows exist. */
  allStarted: (count: number, timeoutMs?: number) => Promise<void>;
  stop: () => Promise<void>;
}

interface ServiceOptions {
  env?: Record<string, string>;
  workerOptions?: string[];
}

export async function startService(
  servers: Servers,
  { env = {}, workerOptions = [] }: ServiceOptions = {},
): Promise<Service> {
  const database = await createArmDatabase(servers, 'service', 'service');
  const namespace = `service-${randomBytes(6).toString('hex')}`;
  const client = createTemporalClient({ connectionOptions: { address: servers.temporalAddress }, namespace });
  await ensureNamespace(client);
  const accounts = createPool(database.url, 2, () => undefined);
  const newSeller = (): Promise<TestSeller> => createSeller(accounts);
  const seller = await newSeller();
  const checkoutKey = await createCheckoutKey(accounts);
  const allEnv = {
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_HEALTH_PORT: '0',
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
    CHECKOUT_BASE_URL: 'https://checkout.example',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    // The highest that the settings allow: the bench has one address and few keys.
    RATE_LIMIT_KEY: '1000000',
    RATE_LIMIT_ADDRESS: '1000000',
    ORDERS_PER_DAY: '1000000000',
    SANDBOX_ORDERS_PER_DAY: '1000000000',
    ...env,
  };
  const [api, worker] = await Promise.all([
    startProcess('server', allEnv),
    startProcess('worker', allEnv, { nodeOptions: workerOptions }),
  ]);
  const http = httpClient(api.port);
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const count = async (query: string): Promise<number> =>
    (await database.db.query<{ count: number }>(`select count(*)::int from ${query}`)).rows[0]!.count;

  const service: Service = {
    ...{ workerPid: worker.pid, port: api.port, seller, newSeller, env: allEnv, db: database.db },
    createFor: ({ id, key }, webhookUrl) =>
      http.call('POST', `${BASE}/seller/${id}/order/`, {
        headers: bearer(key),
        body: { data: { amount: 1234.5, reference: randomUUID(), webhook_url: webhookUrl ?? null } },
      }),
    async create(webhookUrl) {
      return expectStatus(await service.createFor(seller, webhookUrl), 201).body.data.id;
    },
    get: (orderId, etag) =>
      http.call('GET', `${BASE}/order/${orderId}/`, {
        headers: { ...bearer(seller.key), ...(etag !== undefined && { 'if-none-match': etag }) },
      }),
    read: (url) => http.call('GET', url, { headers: bearer(seller.key) }),
    cancel: (orderId, { key }) => http.call('DELETE', `${BASE}/order/${orderId}/`, { headers: bearer(key) }),
    progress: (orderId, event) =>
      http.call('POST', `${BASE}/order/${orderId}/progress/`, {
        headers: bearer(checkoutKey),
        body: { data: { event } },
      }),
    async change(orderId, version) {
      expectStatus(await service.progress(orderId, EVENTS[version - 1]!), 200);
    },
    workflows: async () => (await client.workflow.count(`WorkflowType = 'orderWorkflow'`)).count,
    async allStarted(expected, timeoutMs = 300_000) {
      await until(async () => (await service.workflows()) >= expected, `${expected} workflows exist`, timeoutMs);
    },
    stored: async () => ({
      orders: await count('orders'),
      workflows: await service.workflows(),
      delivered: await count(`webhook_event where state = 'delivered'`),
    }),
    async stop() {
      await http.close();
      await Promise.all([api, worker].map((process) => process.signal('SIGKILL')));
      await accounts.end();
      await client.connection.close();
      await database.close();
    },
  };
  return servers.track(service);
}
