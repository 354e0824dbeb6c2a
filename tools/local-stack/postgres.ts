import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, commandLine, readLines, serverEnvironment, startChild, stopLeftover } from './child';
import { choosePort } from './ports';
import { type OsAccount, osAccountFor, postgresPrograms } from './postgres-programs';

export interface Postgres extends Pick<Child, 'pid' | 'exited' | 'stop'> {
  url: string;
}

interface PostgresOptions {
  /** The folder of the cluster. `<dataDir>.log` is beside it. */
  dataDir: string;
  /** The preferred port. If it is in use, Postgres gets another one; see `url`. */
  port: number;
  log: (line: string) => void;
  /** Default: true. False skips flushing to disk: data survive a killed Postgres, but not a crash of the machine. */
  durable?: boolean;
  /** The folder of `initdb` and `postgres`. Default: what npm installed. */
  programs?: string;
}

const PASSWORD_FILE = 'order-service.password';
/** Milliseconds. After a kill, a start replays the write-ahead log, which can be long. */
const START_LIMIT_MS = 120_000;
/** Milliseconds in which the backends of a killed postmaster exit and release the shared memory. */
const ORPHANS_LIMIT_MS = 10_000;
/** Another process can take a port after the check that it is free and before Postgres binds it. */
const PORT_TRIES = 5;

/** Starts a real Postgres on 127.0.0.1 with a database `orders`. Creates `dataDir` if it does not exist. */
export async function startPostgres({ port, log, durable = true, ...options }: PostgresOptions): Promise<Postgres> {
  const dataDir = resolve(options.dataDir);
  const programs = options.programs ?? postgresPrograms();
  const lockFile = join(dataDir, 'postmaster.pid');
  await stopLeftover(lockFile, dataDir, 'SIGINT');
  const holder = commandLine(Number(readLines(lockFile)[0]));
  // Postgres would mistake another program that has this pid now for a postmaster.
  if (holder !== '' && !holder.includes('postgres')) rmSync(lockFile);

  mkdirSync(dirname(dataDir), { recursive: true });
  const account = osAccountFor(dataDir, programs);
  if (!existsSync(dataDir)) {
    log(`Postgres: creating a database in ${dataDir}`);
    await initialize(dataDir, programs, account, durable);
  }

  const isReady = (pid: number) => {
    // As pg_ctl does: the first line is the postmaster's pid, the eighth its state.
    const lines = readLines(lockFile);
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  };
  const retryUntil = Date.now() + ORPHANS_LIMIT_MS;
  for (let tries = 1; ; tries++) {
    const chosen = await choosePort(port);
    const child = await launch(dataDir, chosen, programs, account, durable);
    const problem = await child.untilReady(START_LIMIT_MS, () => isReady(child.pid));
    if (problem === undefined) {
      const password = readFileSync(join(dataDir, PASSWORD_FILE), 'utf8');
      return { ...child, url: `postgres://postgres:${password}@127.0.0.1:${chosen}/orders` };
    }
    await child.stop();
    const reason = child.output().match(PROBLEM)?.join('; ') ?? problem;
    const isTransient =
      (reason.includes('shared memory block') && Date.now() < retryUntil) ||
      (reason.includes('TCP/IP sockets') && tries < PORT_TRIES);
    if (!isTransient) throw new Error(`Postgres did not start: ${reason} (log: ${dataDir}.log)`);
    await delay(250);
  }
}

const PROBLEM = /(?:(?:error|ERROR|FATAL|PANIC):|error while loading) .*/g;

function launch(dataDir: string, port: number, programs: string, account: OsAccount, durable: boolean): Promise<Child> {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    // synchronous_commit stays on: without it, a killed Postgres loses acknowledged data.
    ...(!durable && { fsync: 'off', full_page_writes: 'off' }),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return startChild({
    name: 'Postgres',
    command: [...account.via, join(programs, 'postgres'), '-D', dataDir, ...args],
    logFile: `${dataDir}.log`,
    // A fast shutdown: SIGTERM waits for clients.
    stopSignal: 'SIGINT',
  });
}

/** Creates the cluster and its database `orders`. An interrupted call leaves no `dataDir`. */
async function initialize(dataDir: string, programs: string, account: OsAccount, durable: boolean): Promise<void> {
  const fresh = `${dataDir}.new`;
  const passwordFile = `${fresh}.password`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 });
  const { owner } = account;
  if (owner) for (const file of [fresh, passwordFile]) chownSync(file, owner.uid, owner.gid);

  const flags = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8'];
  // Postgres' built-in UTF-8 locale sorts text the same on every machine.
  flags.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  if (!durable) flags.push('--no-sync');
  await run([...account.via, join(programs, 'initdb'), '-D', fresh, ...flags]);
  await run(
    [...account.via, join(programs, 'postgres'), '--single', '-D', fresh, 'postgres'],
    'create database orders\n',
  );
  renameSync(passwordFile, join(fresh, PASSWORD_FILE));
  renameSync(fresh, dataDir);
}

function run([command, ...args]: string[], input = ''): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = execFile(command as string, args, { env: serverEnvironment() }, (error, _stdout, stderr) => {
      // In single-user mode, Postgres exits with code 0 even if a statement fails.
      const problem = stderr.match(PROBLEM)?.[0] ?? error?.message;
      if (problem === undefined) resolve();
      else reject(new Error(`Postgres could not create its database: ${problem}`));
    });
    child.stdin?.on('error', () => undefined).end(input);
  });
}
