import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Postgres, startPostgres } from '../../tools/local-stack/postgres';
import { type TemporalServer, startTemporal } from '../../tools/local-stack/temporal-server';
import { type Part, processTree, type WatchedPart } from './part';

const ignore = (): void => undefined;

export interface PostgresPart extends Part {
  dataDir: string;
  /** The URL of the database, without a link in between. */
  url: () => string;
  /** All that it has written to its log. */
  readLog: () => string;
}

/** Postgres in `<folder>/postgres`. */
export function createPostgresPart(folder: string, port: number): PostgresPart {
  const dataDir = path.join(folder, 'postgres');
  let postgres: Postgres | undefined;
  let running = false;
  return {
    name: 'Postgres',
    dataDir,
    url: () => postgres!.url,
    readLog: () =>
      [`${dataDir}.log.old`, `${dataDir}.log`]
        .filter((file) => existsSync(file))
        .map((file) => readFileSync(file, 'utf8'))
        .join(''),
    isRunning: () => running,
    pids: () => (running ? processTree(postgres!.pid) : []),
    async start() {
      postgres = await startPostgres({ dataDir, port, log: ignore, durable: false });
      running = true;
      const { exited } = postgres;
      void exited.then(() => (running = false));
    },
    async end(signal) {
      if (!running) return;
      // SIGTERM makes Postgres wait for its clients. Those who operate it use SIGINT, a fast shutdown.
      if (signal === 'SIGTERM') await postgres!.stop();
      else process.kill(postgres!.pid, signal);
      await postgres!.exited;
    },
  };
}

/** Ends Postgres as after a power cut of the operating system's processes: no checkpoint, no rollback. */
export async function stopImmediately(postgres: PostgresPart & WatchedPart): Promise<void> {
  const [postmaster] = postgres.pids();
  if (postmaster === undefined) return;
  postgres.expectEnd();
  process.kill(postmaster, 'SIGQUIT');
  while (postgres.isRunning()) await delay(25);
}

export interface TemporalPart extends Part {
  /** The folder with the SQLite file. */
  dataDir: string;
  /** host:port of the frontend, without a link in between. */
  address: () => string;
}

/** Temporal in `<folder>/temporal`. */
export function createTemporalPart(folder: string, port: number): TemporalPart {
  const dataDir = path.join(folder, 'temporal');
  let server: TemporalServer | undefined;
  let running = false;
  return {
    name: 'Temporal',
    dataDir,
    address: () => server!.address,
    isRunning: () => running,
    pids: () => (running ? [server!.pid] : []),
    async start() {
      server = await startTemporal({ dataDir, port, uiPort: 0, log: ignore, ui: false, durable: false });
      running = true;
      void server.exited.then(() => (running = false));
    },
    async end(signal) {
      if (!running) return;
      if (signal === 'SIGTERM') await server!.stop();
      else await server!.kill(signal);
      await server!.exited;
    },
  };
}
