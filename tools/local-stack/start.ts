import '../../src/telemetry/start-tracing';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { ConfigError, loadConfig, loadEncryptionConfig, type Config } from '../../src/config';
import { migrate } from '../../src/db/run-migrations';
import { createPool } from '../../src/db/pool';
import { createKeyRing } from '../../src/encryption/key-ring';
import { type ProcessPart, StartError, runUntilSignalled } from '../../src/entry-point';
import { createLogger } from '../../src/logger';
import { startServer } from '../../src/server';
import { freeLoopbackAddress, startMetrics } from '../../src/telemetry/metrics-server';
import { createTemporalClient, temporalSettings } from '../../src/temporal/connection';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { ensureNamespace } from '../../src/temporal/set-up';
import { startWorker } from '../../src/worker';
import { announcement } from './announcement';
import { demoOrder, demoSeller, writeEnv, type DemoAccess } from './demo';
import { choosePort, isPortFree } from './ports';
import { startPostgres } from './postgres';
import { DATA_DIR, DEFAULT_DATA_DIR, claimData, findRunning } from './running';
import { SHOP_PORT, serveShop } from './serve-shop';
import { startTemporal } from './temporal-server';

const DEMO_ENV = path.join(DATA_DIR, 'demo.env');
const START_OVER = `mv '${DATA_DIR}' '${DATA_DIR}.damaged' and start again, with new data.`;

const print = (line: string): void => console.log(line);

/** True once this process stops the parts of the stack itself. */
let stopping = false;
/** True once the data belongs to this process. */
let hasData = false;

/** `npm start`: the whole service on this machine, with a real Postgres and a real Temporal, until Ctrl-C. */
async function start(started: (part: ProcessPart) => void): Promise<void> {
  const env = { ...process.env };
  // Before anything is started: an invalid setting takes no time to report.
  const port = await checkSettings(env);
  await createDataDir();
  const claim = claimData(DATA_DIR);
  started(claim);
  hasData = true;
  // Only now: a start that is refused reports why in one line.
  if (!env.PORT && port !== 3000) print(`Port 3000 is in use: the API listens on ${port}`);

  env.DATABASE_URL ||= await startOwnPostgres(started);
  const { settings, uiUrl } = env.TEMPORAL_ADDRESS
    ? { settings: temporalSettings(), uiUrl: env.TEMPORAL_UI_URL ?? '' }
    : await startOwnTemporal(started);

  const metricsPort = await choosePort(9464);
  const ordersUrl = `http://127.0.0.1:${port}`;
  const shopUrl = `http://127.0.0.1:${await choosePort(SHOP_PORT)}`;
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
  const access = await prepareDatabase(config, shopUrl);
  const log = createLogger(config.logLevel, 'order-service');
  const sdkMetrics = config.metricsAddress && (await freeLoopbackAddress());
  installTemporalRuntime(log, sdkMetrics);
  await prepareTemporalNamespace(settings);
  const worker = await startWorker(config, settings, log);
  started(worker);
  started(await startServer(config, settings, log));
  if (config.metricsAddress) started(await startMetrics(config.metricsAddress, worker, log, sdkMetrics));

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
  const orderUrl = await demoOrder(apiUrl, access, shopUrl).catch((error: unknown) => String(error));
  started(await serveShop(shopUrl, addresses));
  claim.isUpAt(ordersUrl);
  print(announcement(addresses, { dataDir: DATA_DIR, envFile: DEMO_ENV, apiUrl, orderUrl, shopUrl }));
  await worker.failed;
}

/** Only the user of this process can read what is below the folder: it contains keys and orders. */
async function createDataDir(): Promise<void> {
  // Postgres does not run as root, so its user must be able to enter root's folder.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  try {
    await mkdir(DATA_DIR, { recursive: true, mode });
    // Not a folder that the user chose: it may have other uses.
    if (DATA_DIR === DEFAULT_DATA_DIR) await chmod(DATA_DIR, mode);
    process.umask(0o077);
    // The printed commands write to it, from a shell with a umask of its own.
    await writeFile(path.join(DATA_DIR, 'order.json'), '', { flag: 'a' });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new StartError(`DATA_DIR: cannot write to ${DATA_DIR} (${code}). Choose a folder that you can write to.`);
  }
}

/** Explains how to continue if data of an earlier start prevents this one. */
async function withRecoveryHint<T>(starting: Promise<T>, cure: string): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    throw new StartError(`${(error as Error).message.replaceAll('\n', ' ')}. If the data is damaged: ${cure}`);
  }
}

async function startOwnPostgres(started: (part: ProcessPart) => void): Promise<string> {
  const dataDir = path.join(DATA_DIR, 'postgres');
  const isNew = !existsSync(dataDir);
  const starting = startPostgres({ dataDir, port: 54329, log: print });
  const postgres = await (isNew ? starting : withRecoveryHint(starting, START_OVER));
  started(postgres);
  stopWhenEnded(postgres.exited, 'Postgres');
  return postgres.url;
}

async function startOwnTemporal(
  started: (part: ProcessPart) => void,
): Promise<{ settings: ClientConnectConfig; uiUrl: string }> {
  const dataDir = path.join(DATA_DIR, 'temporal');
  const isNew = !existsSync(dataDir);
  const starting = startTemporal({ dataDir, port: 7233, uiPort: 8233, log: print });
  const cure = `rm -r '${dataDir}'. The orders are in Postgres, and open ones resume from there.`;
  const temporal = await (isNew ? starting : withRecoveryHint(starting, cure));
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

/** Checks all settings, of which `npm start` supplies those without a default, and returns the port of the API. */
async function checkSettings(env: NodeJS.ProcessEnv): Promise<number> {
  try {
    loadConfig({ DATABASE_URL: 'postgres://localhost', CHECKOUT_BASE_URL: 'http://localhost', ...env });
  } catch (error) {
    throw error instanceof ConfigError ? new StartError(error.message.replace(/\n +/g, ' ')) : error;
  }
  if (!env.PORT) return choosePort(3000);
  if (await isPortFree(Number(env.PORT))) return Number(env.PORT);
  // Often it is the service itself.
  const running = findRunning(DATA_DIR);
  throw new StartError(running ?? `PORT: ${env.PORT} is in use by another program. Choose another port.`);
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

async function prepareTemporalNamespace(settings: ClientConnectConfig): Promise<void> {
  const client = createTemporalClient(settings);
  await ensureNamespace(client);
  await client.connection.close();
}

void runUntilSignalled(start, () => {
  stopping = true;
  if (hasData) print(`\nStopping. ${process.env.DATABASE_URL ? 'Your database' : DATA_DIR} keeps the data.`);
});
