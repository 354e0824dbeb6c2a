import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/db/migrations';
import { freePort } from '../../tools/local-stack/ports';
import { startPostgres } from '../../tools/local-stack/postgres';
import { startTemporal } from '../../tools/local-stack/temporal-server';
import { stopOnExit } from '../support/global-setup';
import { killProcesses } from '../support/processes';

export interface Servers {
  /** Of the database `postgres`. */
  admin: pg.Pool;
  databaseUrl: (name: string) => string;
  temporalAddress: string;
  /** Registers an arm, so that it does not outlive its section. */
  track: <Arm extends Stoppable>(arm: Arm) => Arm;
  /** Stops the arms that still run. */
  stopArms: () => Promise<void>;
  stop: () => Promise<void>;
}

interface Stoppable {
  stop: () => Promise<void>;
}

/** Starts the Postgres and the Temporal server that all arms share. Both flush every commit to disk. */
export async function startServers(): Promise<Servers> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-bench-'));
  const postgres = await startPostgres({
    dataDir: path.join(dataDir, 'postgres'),
    port: await freePort(),
    log: () => undefined,
  });
  await migrate(postgres.url);
  const admin = new pg.Pool({ connectionString: urlOf(postgres.url, 'postgres'), max: 2 });
  admin.on('error', () => undefined);
  const temporal = await startTemporal({
    dataDir: path.join(dataDir, 'temporal'),
    port: await freePort(),
    uiPort: await freePort(),
    log: (line) => console.error(line),
    ui: false,
  });
  // The test support reads both.
  process.env.TEST_DATABASE_URL = postgres.url;
  process.env.TEST_TEMPORAL_ADDRESS = temporal.address;
  for (const { pid } of [temporal, postgres]) stopOnExit(pid);
  process.once('exit', () => void killProcesses());
  const running = new Set<Stoppable>();
  return {
    track(arm) {
      const { stop } = arm;
      running.add(arm);
      arm.stop = async () => {
        if (running.delete(arm)) await stop();
      };
      return arm;
    },
    async stopArms() {
      await Promise.all([...running].map((arm) => arm.stop()));
    },
    admin,
    databaseUrl: (name) => urlOf(postgres.url, name),
    temporalAddress: temporal.address,
    async stop() {
      await admin.end();
      await Promise.all([temporal.stop(), postgres.stop()]);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function urlOf(url: string, database: string): string {
  const result = new URL(url);
  result.pathname = `/${database}`;
  return result.href;
}
