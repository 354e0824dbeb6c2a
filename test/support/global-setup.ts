import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '../../src/db/migrations';
import { freePort } from '../../tools/local-stack/ports';
import { startPostgres } from '../../tools/local-stack/postgres';
import { startTemporal } from '../../tools/local-stack/temporal-server';

/** A full run writes about 250 MB. */
const MIN_MEMORY_BYTES = 2 * 1024 ** 3;

const log = (line: string): void => console.log(line);

/** Starts Postgres and Temporal for the whole run of Jest, or of another program. */
export default async function globalSetup(): Promise<void> {
  const dataDir = mkdtempSync(path.join(fastFolder(), 'order-service-test-'));
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
  // After the servers: in memory, what an interrupted run leaves would stay until the machine restarts.
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  process.env.TEST_DATABASE_URL = postgres.url;
  process.env.TEST_TEMPORAL_ADDRESS = temporal.address;
  process.env.TEST_DATA_DIR = dataDir;
  // The tests start hundreds of processes, and each would compile the same modules again.
  process.env.NODE_COMPILE_CACHE = path.join(dataDir, 'compile-cache');
  Object.assign(globalThis, { stopTestStack: () => Promise.all([temporal.stop(), postgres.stop()]) });
}

/**
 * Memory, if there is room. Most test files create a database and drop it, and ext4 is slow to create files soon after
 * others were deleted.
 */
function fastFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > MIN_MEMORY_BYTES ? memory : tmpdir();
}

/** An interrupted run has no teardown, and the servers would outlive it in their own process groups. */
export function stopOnExit(pid: number, signal: NodeJS.Signals = 'SIGINT'): void {
  process.once('exit', () => {
    try {
      process.kill(pid, signal);
    } catch {
      // The teardown has stopped it already.
    }
  });
  for (const end of ['SIGINT', 'SIGTERM'] as const) process.once(end, () => process.exit(1));
}
