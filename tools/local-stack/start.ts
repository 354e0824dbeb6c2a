import '../../src/telemetry/start-tracing';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { ConfigError, loadConfig, type Config } from '../../src/config';
import { migrate } from '../../src/db/migrate';
import { createPool } from '../../src/db/pool';
import { runUntilSignalled, type Running } from '../../src/entry-point';
import { createLogger } from '../../src/logger';
import { startServer } from '../../src/server';
import { freeLoopbackAddress } from '../../src/telemetry/metrics-server';
import { startMetrics } from '../../src/telemetry/start-metrics';
import { createTemporalClient, temporalSettings } from '../../src/temporal/connection';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { ensureNamespace } from '../../src/temporal/set-up';
import { startWorker } from '../../src/worker';
import { PACKAGE_ROOT } from '../package-root';
import { announcement } from './announcement';
import { demoOrder, demoSeller, writeEnv, type DemoAccess } from './demo';
import { choosePort, isPortFree } from './ports';
import { startPostgres } from './postgres';
import { startTemporal } from './temporal-server';

const DEFAULT_DATA_DIR = path.join(PACKAGE_ROOT, '.data');
const DATA_DIR = process.env.DATA_DIR || DEFAULT_DATA_DIR;
const DEMO_ENV = path.join(DATA_DIR, 'demo.env');

const print = (line: string): void => console.log(line);

/** True once this process stops the parts of the stack itself. */
let stopping = false;

/** `npm start`: the whole service on this machine, with a real Postgres and a real Temporal, until Ctrl-C. */
async function start(started: (running: Running) => void): Promise<void> {
  await createDataDir();
  const env = { ...process.env };

  env.DATABASE_URL ||= await startOwnPostgres(started);
  const { settings, uiUrl } = env.TEMPORAL_ADDRESS
    ? { settings: temporalSettings(), uiUrl: env.TEMPORAL_UI_URL ?? '' }
    : await startOwnTemporal(started);

  const port = await apiPort(env.PORT);
  const metricsPort = await choosePort(9464);
  const ordersUrl = `http://127.0.0.1:${port}`;
  const config = loadConfig({
    LOG_LEVEL: 'warn',
    CHECKOUT_BASE_URL: ordersUrl,
    API_PUBLIC_URL: ordersUrl,
    CHECKOUT_LENDER: 'sandbox',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    METRICS_ADDRESS: `127.0.0.1:${metricsPort}`,
    WORKER_HEALTH_PORT: String(await choosePort(3001)),
    ...env,
    PORT: String(port),
  });
  const access = await prepareDatabase(config);
  const log = createLogger(config.logLevel, 'order-service');
  const sdkMetrics = config.metricsAddress && (await freeLoopbackAddress());
  installTemporalRuntime(log, sdkMetrics);
  await prepareTemporalNamespace(settings);
  const worker = await startWorker(config, settings, log);
  started(worker);
  started(await startServer(config, settings, log));
  if (config.metricsAddress) started(await startMetrics(config.metricsAddress, worker.db, sdkMetrics));

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
  // The developer's own settings can make this order invalid.
  const apiUrl = `${ordersUrl}${config.api.basePaths[0] ?? ''}`;
  const orderUrl = await demoOrder(apiUrl, access, uiUrl).catch((error: unknown) => String(error));
  print(announcement(addresses, { dataDir: DATA_DIR, envFile: DEMO_ENV }, apiUrl, orderUrl));
  await worker.failed;
}

/** Only the user of this process can read what is below the folder: it contains keys and orders. */
async function createDataDir(): Promise<void> {
  // Postgres does not run as root, so its user must be able to enter root's folder.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  await mkdir(DATA_DIR, { recursive: true, mode });
  // Not a folder that the user chose: it may have other uses.
  if (DATA_DIR === DEFAULT_DATA_DIR) await chmod(DATA_DIR, mode);
  process.umask(0o077);
  // The printed commands write to it, from a shell with a umask of its own.
  await writeFile(path.join(DATA_DIR, 'order.json'), '', { flag: 'a' });
}

async function startOwnPostgres(started: (running: Running) => void): Promise<string> {
  const dataDir = path.join(DATA_DIR, 'postgres');
  const postgres = await startPostgres({ dataDir, port: 54329, log: print });
  started(postgres);
  stopWhenEnded(postgres.exited, 'Postgres');
  return postgres.url;
}

async function startOwnTemporal(
  started: (running: Running) => void,
): Promise<{ settings: ClientConnectConfig; uiUrl: string }> {
  const dataDir = path.join(DATA_DIR, 'temporal');
  const temporal = await startTemporal({ dataDir, port: 7233, uiPort: 8233, log: print });
  started(temporal);
  stopWhenEnded(temporal.exited, 'Temporal');
  const settings = { connectionOptions: { address: temporal.address }, namespace: 'default' };
  return { settings, uiUrl: temporal.uiUrl ?? '' };
}

/** Stops the whole service if Postgres or Temporal ends unexpectedly. */
function stopWhenEnded(exited: Promise<string>, name: string): void {
  void exited.then((how) => {
    if (stopping) return;
    print(`${name} stopped unexpectedly: ${how}`);
    process.kill(process.pid, 'SIGTERM');
  });
}

async function apiPort(wanted: string | undefined): Promise<number> {
  if (!wanted) {
    const port = await choosePort(3000);
    if (port !== 3000) print(`Port 3000 is in use: the API listens on ${port}`);
    return port;
  }
  const port = Number(wanted);
  if (!(await isPortFree(port)))
    throw new ConfigError(`PORT: ${wanted} is in use by another program; choose another port`);
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

void runUntilSignalled(start, () => {
  stopping = true;
  print(`\nStopping. ${DATA_DIR} keeps the data.`);
});
