import '../../src/telemetry/tracing';
import path from 'node:path';
import { createClient } from 'order-service-client';
import { loadConfig, loadEncryptionConfig, type Config } from '../../src/config';
import { migrate } from '../../src/db/migrations';
import { createPool } from '../../src/db/pool';
import { createKeyRing } from '../../src/encryption/key-ring';
import { runUntilSignalled } from '../../src/entry-point';
import { createLogger } from '../../src/logger';
import { lendersOf, paymentProvidersOf } from '../../src/providers';
import { startServer } from '../../src/server';
import { freeLoopbackAddress, startMetrics } from '../../src/telemetry/metrics-server';
import { createTemporalClient, temporalSettings } from '../../src/temporal/connection';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { ensureNamespace } from '../../src/temporal/server';
import { startWorker } from '../../src/worker';
import { announcement } from './announcement';
import { demoOrder, demoSeller, writeEnv, type DemoAccess } from './demo';
import { DATA_DIR, keepPort } from './running';
import { SHOP_PORT, serveShop } from './serve-shop';
import { OWN_SETTINGS, START_OVER, type Servers, type Started, withRecoveryHint } from './servers';

const DEMO_ENV = path.join(DATA_DIR, 'demo.env');

/** Starts a worker, the API and the demo shop in this process, prints their addresses, and waits until one fails. */
export async function startService(servers: Servers, started: Started): Promise<void> {
  const ordersUrl = `http://127.0.0.1:${servers.port}`;
  const shopUrl = `http://127.0.0.1:${await keepPort(SHOP_PORT)}`;
  const config = loadConfig({
    LOG_LEVEL: 'warn',
    CHECKOUT_BASE_URL: ordersUrl,
    API_PUBLIC_URL: ordersUrl,
    HOSTED_CHECKOUT: 'true',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    SANDBOX_ORDERS_PER_DAY: '1000000',
    METRICS_ADDRESS: `127.0.0.1:${await keepPort(9464)}`,
    WORKER_HEALTH_PORT: String(await keepPort(3001)),
    ...process.env,
    ...OWN_SETTINGS,
    DATABASE_URL: servers.databaseUrl,
    PORT: String(servers.port),
  });
  const access = await prepareDatabase(config, shopUrl);
  const log = createLogger(config.logLevel, 'order-service');
  const sdkMetrics = config.metricsAddress && (await freeLoopbackAddress());
  installTemporalRuntime(log, sdkMetrics);
  const settings = servers.temporal ?? temporalSettings();
  const client = createTemporalClient(settings);
  await ensureNamespace(client);
  await client.connection.close();
  const worker = await startWorker(config, settings, log);
  started(worker);
  started(await startServer(config, settings, log));
  if (config.metricsAddress) started(await startMetrics(config.metricsAddress, worker, log, sdkMetrics));

  const addresses = {
    ORDERS_URL: ordersUrl,
    ...access,
    CHECKOUT_BASE_URL: config.checkoutBaseUrl,
    // For `status`, which checks the checkout only if there is one.
    HOSTED_CHECKOUT: String(config.hostedCheckout.enabled),
    DATABASE_URL: config.databaseUrl,
    TEMPORAL_ADDRESS: settings.connectionOptions.address ?? 'localhost:7233',
    TEMPORAL_NAMESPACE: settings.namespace ?? 'default',
    TEMPORAL_UI_URL: servers.temporalUiUrl,
    METRICS_URL: `http://${config.metricsAddress ?? ''}/metrics`,
  };
  await writeEnv(DEMO_ENV, addresses);
  const orders = createClient({ baseUrl: ordersUrl, apiKey: access.SELLER_API_KEY, sellerId: access.SELLER_ID });
  // The developer's own settings can make this order invalid.
  const apiUrl = `${ordersUrl}${config.api.basePaths[0] ?? ''}`;
  const orderUrl = await demoOrder(orders, shopUrl).catch((error: unknown) => String(error));
  // As the shop's back office asks for it.
  const sellerUrl = await orders.createPortalSession().then(
    ({ url }) => url,
    (error: unknown) => String(error),
  );
  started(await serveShop(shopUrl, orders, access.WEBHOOK_SECRET));
  const live = { lender: lendersOf(config).live, bank: paymentProvidersOf(config, worker.db).live };
  console.log(
    announcement(addresses, { dataDir: DATA_DIR, envFile: DEMO_ENV, apiUrl, orderUrl, sellerUrl, shopUrl, live }),
  );
  process.send?.('up');
  await worker.failed;
}

async function prepareDatabase(config: Config, shopUrl: string): Promise<DemoAccess> {
  const migrating = migrate(config.databaseUrl);
  await (process.env.DATABASE_URL ? migrating : withRecoveryHint(migrating, START_OVER));
  const db = createPool(config.databaseUrl, 1, () => undefined);
  try {
    const keys = createKeyRing(loadEncryptionConfig(process.env).encryptionKeys);
    return await demoSeller(db, keys, DEMO_ENV, shopUrl);
  } finally {
    await db.end();
  }
}

if (require.main === module) {
  // dev.ts runs it. If that process is killed, this one stops too.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  void runUntilSignalled((started) => startService(JSON.parse(process.argv[2] ?? '') as Servers, started));
}
