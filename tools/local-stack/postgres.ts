import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { end, startChild, stopLeftover, type Child } from './child';
import { choosePort } from './ports';
import { initializePostgres, passwordOf } from './postgres-init';
import { type OsAccount, osAccountFor, postgresBinaries, spawnAs } from './postgres-binaries';
import { commandLine, identify } from './process-table';

export interface Postgres {
  url: string;
  pid: number;
  /** Resolves when Postgres has ended, for any reason, with a description of how it ended. */
  exited: Promise<string>;
  /** Closes open connections, writes a checkpoint and stops. */
  stop(): Promise<void>;
}

interface PostgresOptions {
  /** The folder of the cluster. `<dataDir>.log` and `<dataDir>.pid` are beside it. */
  dataDir: string;
  /** The preferred port. If it is in use, Postgres gets another one; see `url`. */
  port: number;
  log: (line: string) => void;
  /** Default: true. False skips flushing to disk: data survive a killed Postgres, but not a crash of the machine. */
  durable?: boolean;
}

const LOCK_FILE = 'postmaster.pid';
/** Milliseconds. After a kill, a start replays the write-ahead log, which can be long. */
const START_LIMIT_MS = 120_000;
/** Milliseconds in which the backends of a killed postmaster exit and release the shared memory. */
const ORPHANS_LIMIT_MS = 10_000;

/** Another process can take a port after the check that it is free and before Postgres binds it. */
const PORT_TRIES = 5;

/** Starts a real Postgres on 127.0.0.1 with a database `orders`. Creates `dataDir` if it does not exist. */
export async function startPostgres({ dataDir, port, log, durable = true }: PostgresOptions): Promise<Postgres> {
  const dir = resolve(dataDir);
  await stopLeftoverPostgres(dir);
  mkdirSync(dirname(dir), { recursive: true });
  const account = osAccountFor(dir);
  if (!existsSync(dir)) {
    log(`Postgres: creating a database in ${dir}`);
    await initializePostgres(dir, account, durable);
  }

  const retryUntil = Date.now() + ORPHANS_LIMIT_MS;
  for (let tries = 1; ; tries++) {
    const chosen = await choosePort(port);
    const child = await launch(dir, chosen, account, durable);
    const problem = await ready(child, dir);
    if (problem === undefined) {
      const url = `postgres://postgres:${passwordOf(dir)}@127.0.0.1:${chosen}/orders`;
      return { url, pid: child.pid, exited: child.exited, stop: () => child.stop() };
    }
    await child.stop();
    const isTransient =
      (problem.includes('shared memory block') && Date.now() < retryUntil) ||
      (problem.includes('TCP/IP sockets') && tries < PORT_TRIES);
    if (!isTransient) throw new Error(`Postgres did not start: ${problem} (log: ${child.log.path})`);
    await delay(250);
  }
}

/** Ends a Postgres that a killed run left on these data. It may also hold the port. */
async function stopLeftoverPostgres(dataDir: string): Promise<void> {
  const dir = resolve(dataDir);
  await stopLeftover({ name: 'Postgres', pidFile: `${dir}.pid`, stopSignal: 'SIGINT' });

  const pid = Number(lockFile(dir)[0]);
  const holder = pid > 0 ? identify(pid) : undefined;
  if (!holder) return;
  const command = commandLine(pid);
  if (command.includes(`-D ${dir} `)) await end(holder, 'SIGINT');
  // Another program has this pid now. Postgres would mistake it for a postmaster.
  else if (!command.includes('postgres')) rmSync(join(dir, LOCK_FILE));
}

function launch(dir: string, port: number, account: OsAccount, durable: boolean): Promise<Child> {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    // synchronous_commit stays on: without it, a killed Postgres loses acknowledged data.
    ...(!durable && { fsync: 'off', full_page_writes: 'off' }),
  };
  return startChild({
    name: 'Postgres',
    binary: postgresBinaries().postgres,
    args: ['-D', dir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    pidFile: `${dir}.pid`,
    logFile: `${dir}.log`,
    stopSignal: 'SIGINT',
    env: { ...process.env, LC_ALL: 'C' },
    via: account.via,
    ...spawnAs(account),
  });
}

/** Waits until Postgres accepts connections. Returns what went wrong if it does not. */
async function ready(child: Child, dir: string): Promise<string | undefined> {
  const deadline = Date.now() + START_LIMIT_MS;
  while (child.running()) {
    // As pg_ctl does: the first line is the postmaster's pid, the eighth its state.
    const lines = lockFile(dir);
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return undefined;
    if (Date.now() > deadline) return `it was not ready after ${START_LIMIT_MS / 1000} s`;
    await delay(25);
  }
  const fatal = child.log.tail().match(/(?:(?:FATAL|PANIC):|error while loading) .*/g);
  return fatal?.join('; ') ?? (await child.exited);
}

/** The lines of Postgres' lock file; none if the file does not exist. */
function lockFile(dir: string): string[] {
  try {
    return readFileSync(join(dir, LOCK_FILE), 'utf8').split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
