import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '../../src/db/run-migrations';
import { freePort } from '../../tools/local-stack/ports';
import { startPostgres } from '../../tools/local-stack/postgres';
import { startTemporal } from '../../tools/local-stack/temporal-server';

const log = (line: string): void => console.log(line);

/** Starts Postgres and Temporal for the whole test run. Each test file creates its own database and namespace. */
export default async function globalSetup(): Promise<void> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-test-'));
  const postgres = await startPostgres({
    dataDir: path.join(dataDir, 'postgres'),
    port: await freePort(),
    log,
    durable: false,
  });
  await migrate(postgres.url);
  stopOnExit(postgres.pid);
  const temporal = await startTemporal({
    dataDir: path.join(dataDir, 'temporal'),
    port: await freePort(),
    uiPort: await freePort(),
    log,
    ui: false,
    durable: false,
  });
  stopOnExit(temporal.pid);
  process.env.TEST_DATABASE_URL = postgres.url;
  process.env.TEST_TEMPORAL_ADDRESS = temporal.address;
  process.env.TEST_DATA_DIR = dataDir;
  Object.assign(globalThis, { stopTestStack: () => Promise.all([temporal.stop(), postgres.stop()]) });
}

/** An interrupted run has no teardown, and the servers would outlive it in their own process groups. */
function stopOnExit(pid: number): void {
  process.once('exit', () => {
    try {
      process.kill(pid, 'SIGINT');
    } catch {
      // The teardown has stopped it already.
    }
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}
