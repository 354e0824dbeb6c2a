import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Config } from '../../src/config';
import { ConfigError, loadConfig } from '../../src/config';
import { migrate } from '../../src/db/migrate';
import { createPool } from '../../src/db/pool';
import type { DemoAccess } from './demo';
import { curlCommands, demoOrder, demoSeller, writeEnv } from './demo';
import { choosePort, isPortFree } from './ports';
import { startPostgres } from './postgres';
import { startTemporal } from './temporal-server';
import type { Running } from '../../src/entry-point';
import { runUntilSignalled } from '../../src/entry-point';
import { createLogger } from '../../src/logger';
import { dataDir, demoEnvFile } from '../package-root';
import { startServer } from '../../src/server';
import { createTemporalClient, temporalSettings } from '../../src/temporal/connection';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { ensureNamespace } from '../../src/temporal/set-up';
import { startWorker } from '../../src/worker';

/** `npm start`: the whole service on this machine, with real Postgres and Temporal, until Ctrl-C. */
const DATA_DIR = dataDir(process.env);
const DEMO_ENV = demoEnvFile(process.env);

const say = (line: string): void => console.log(line);

/** Whether the parts of the stack end because we stop them. */
let stopping = false;

async function start(started: (running: Running) => void): Promise<void> {
  await mkdir(DATA_DIR, { recursive: true });
  const env = { ...process.env };

  env.DATABASE_URL ||= await ownPostgres(started);
  const { settings, uiUrl } = env.TEMPORAL_ADDRESS
    ? { settings: temporalSettings(), uiUrl: env.TEMPORAL_UI_URL ?? '' }
    : await ownTemporal(started);

  const port = await apiPort(env.PORT);
  const metricsPort = await choosePort(9464);
  const ordersUrl = `http://127.0.0.1:${port}`;
  const config = loadConfig({
    LOG_LEVEL: 'warn',
    CHECKOUT_BASE_URL: ordersUrl,
    CHECKOUT_LENDER: 'sandbox',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    METRICS_ADDRESS: `127.0.0.1:${metricsPort}`,
    WORKER_HEALTH_PORT: String(await choosePort(3001)),
    ...env,
    PORT: String(port),
  });
  const access = await prepareDatabase(config);
  const log = createLogger(config.logLevel, 'order-service');
  installTemporalRuntime(log, config.metricsAddress);
  await prepareTemporalNamespace(settings);
  const worker = await startWorker(config, settings, log);
  started(worker);
  started(await startServer(config, settings, log));

  const addresses = {
    ORDERS_URL: ordersUrl,
    ...access,
    CHECKOUT_BASE_URL: config.checkoutBaseUrl,
    DATABASE_URL: config.databaseUrl,
    TEMPORAL_ADDRESS: settings.connectionOptions.address ?? 'localhost:7233',
    TEMPORAL_NAMESPACE: settings.namespace ?? 'default',
    TEMPORAL_UI_URL: uiUrl,
    METRICS_URL: `http://${config.metricsAddress ?? ''}/metrics`,
  };
  await writeEnv(DEMO_ENV, addresses);
  // Settings of the developer's own may refuse it.
  announce(addresses, await demoOrder(ordersUrl, access, uiUrl).catch((error: unknown) => String(error)));
  await worker.failed;
}

async function ownPostgres(started: (running: Running) => void): Promise<string> {
  const dataDir = path.join(DATA_DIR, 'postgres');
  const postgres = await startPostgres({ dataDir, port: 54329, log: say });
  started(postgres);
  endWith(postgres.exited, 'Postgres');
  return postgres.url;
}

async function ownTemporal(
  started: (running: Running) => void,
): Promise<{ settings: ClientConnectConfig; uiUrl: string }> {
  const dataDir = path.join(DATA_DIR, 'temporal');
  const temporal = await startTemporal({ dataDir, port: 7233, uiPort: 8233, log: say });
  started(temporal);
  endWith(temporal.exited, 'Temporal');
  const settings = { connectionOptions: { address: temporal.address }, namespace: 'default' };
  return { settings, uiUrl: temporal.uiUrl ?? '' };
}

/** Without one of its parts the service cannot go on: it stops, and says which one ended. */
function endWith(exited: Promise<string>, name: string): void {
  void exited.then((how) => {
    if (stopping) return;
    say(`${name} ended: ${how}`);
    process.kill(process.pid, 'SIGTERM');
  });
}

async function apiPort(wanted: string | undefined): Promise<number> {
  if (!wanted) {
    const port = await choosePort(3000);
    if (port !== 3000) say(`Port 3000 is taken: the API listens on ${port}`);
    return port;
  }
  const port = Number(wanted);
  if (!(await isPortFree(port)))
    throw new ConfigError(`PORT: ${wanted} is taken by another program; choose another one`);
  return port;
}

async function prepareDatabase(config: Config): Promise<DemoAccess> {
  await migrate(config.databaseUrl);
  const db = createPool(config.databaseUrl, 1, () => undefined);
  try {
    return await demoSeller(db, DEMO_ENV);
  } finally {
    await db.end();
  }
}

async function prepareTemporalNamespace(settings: ClientConnectConfig): Promise<void> {
  const client = createTemporalClient(settings);
  await ensureNamespace(client);
  await client.connection.close();
}

function announce(
  addresses: DemoAccess & Record<'ORDERS_URL' | 'TEMPORAL_UI_URL' | 'METRICS_URL' | 'DATABASE_URL', string>,
  orderUrl: string,
) {
  say(`
The order service is up.

  API           ${addresses.ORDERS_URL}
  Temporal UI   ${addresses.TEMPORAL_UI_URL || 'not started'}
  Postgres      ${addresses.DATABASE_URL}
  Metrics       ${addresses.METRICS_URL}
  Keys          ${DEMO_ENV}
  Checkout      ${orderUrl}

The last one is where the customer of a new order pays; what to enter there is in docs/hosted-checkout.md.
Create an order, retrieve it, cancel it:

${curlCommands(addresses.ORDERS_URL, addresses, DATA_DIR).join('\n\n')}

Ctrl-C stops everything; open orders go on at the next start.`);
}

void runUntilSignalled(start, () => {
  stopping = true;
  say('\nStopping; open orders are kept in .data/');
});
