import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '../../src/db/migrate';
import { createPool } from '../../src/db/pool';
import { freePort } from '../../src/dev/ports';
import { startPostgres } from '../../src/dev/postgres';
import { startTemporal } from '../../src/dev/temporal-server';

const log = (line: string): void => console.log(line);

/** One real Postgres and one real Temporal for the whole run; each test file makes its own database and namespace. */
export default async function globalSetup(): Promise<void> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-test-'));
  const postgres = await startPostgres({
    dataDir: path.join(dataDir, 'postgres'),
    port: await freePort(),
    log,
    durable: false,
  });
  const template = createPool(postgres.url, 1, () => undefined);
  await migrate(template);
  await template.end();
  const temporal = await startTemporal({
    dataDir: path.join(dataDir, 'temporal'),
    port: await freePort(),
    uiPort: await freePort(),
    log,
    ui: false,
    durable: false,
  });
  process.env.TEST_DATABASE_URL = postgres.url;
  process.env.TEST_TEMPORAL_ADDRESS = temporal.address;
  process.env.TEST_DATA_DIR = dataDir;
  Object.assign(globalThis, { stopTestStack: () => Promise.all([temporal.stop(), postgres.stop()]) });
}
