import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { ConfigError, loadConfig } from '../../src/config';
import { readMigrations } from '../../src/db/migrations';
import { type ProcessPart, StartError, runUntilSignalled } from '../../src/entry-point';
import { isPortFree } from './ports';
import { startPostgres } from './postgres';
import { DATA_DIR, DEFAULT_DATA_DIR, claimData, findRunning, keepPort, readJson, recordPort } from './running';
import { startTemporal } from './temporal-server';

/** What the service needs to start. Can be sent to another process as JSON. */
export interface Servers {
  port: number;
  databaseUrl: string;
  /** Undefined if the environment names a Temporal server. */
  temporal?: ClientConnectConfig;
  temporalUiUrl: string;
}

export type Started = (part: ProcessPart) => void;

/** Other programs use variables of these names. */
export const OWN_SETTINGS = { NODE_ENV: 'development', HOST: '127.0.0.1' };

export const START_OVER = `mv '${DATA_DIR}' '${DATA_DIR}.damaged' and start again, with new data.`;

const print = (line: string): void => console.log(line);

/** True once this process stops the servers itself. */
let stopping = false;
/** True once the data belongs to this process. */
let hasData = false;

/** Runs `start` on a Postgres and a Temporal, which are started unless the environment names others, until Ctrl-C. */
export async function runWithServers(start: (servers: Servers, started: Started) => Promise<void>): Promise<void> {
  const onStop = (): void => {
    stopping = true;
    if (hasData) print(`\nStopping. ${process.env.DATABASE_URL ? 'Your database' : DATA_DIR} keeps the data.`);
  };
  await runUntilSignalled(async (started) => start(await startServers(started), started), onStop);
}

async function startServers(started: Started): Promise<Servers> {
  const { env } = process;
  // Before anything is started: an invalid setting takes no time to report.
  await checkSettings();
  await createDataDir();
  const running = findRunning(DATA_DIR);
  if (running !== undefined) throw new StartError(running);
  const port = Number(env.PORT) || (await keepPort(3000));
  const claim = claimData(DATA_DIR, `http://127.0.0.1:${port}`);
  started(claim);
  hasData = true;
  // Only now: a start that is refused reports why in one line.
  if (!env.PORT && port !== 3000) print(`Port 3000 is in use: the API listens on ${port}`);

  const databaseUrl = env.DATABASE_URL || (await startOwnPostgres(started));
  if (env.TEMPORAL_ADDRESS) return { port, databaseUrl, temporalUiUrl: env.TEMPORAL_UI_URL ?? '' };
  delete env.TEMPORAL_PROXY;
  return { port, databaseUrl, ...(await startOwnTemporal(started)) };
}

/** Checks all settings, of which `npm start` supplies those without a default, and that the port of the API is free. */
async function checkSettings(): Promise<void> {
  const { env } = process;
  try {
    loadConfig({
      DATABASE_URL: 'postgres://localhost',
      CHECKOUT_BASE_URL: 'http://localhost',
      ...env,
      ...OWN_SETTINGS,
    });
  } catch (error) {
    throw error instanceof ConfigError ? new StartError(error.message.replace(/\n +/g, ' ')) : error;
  }
  if (!env.PORT || (await isPortFree(Number(env.PORT)))) return;
  // Often it is the service itself.
  const running = findRunning(DATA_DIR);
  throw new StartError(running ?? `PORT: ${env.PORT} is in use by another program. Choose another port.`);
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

const POSTGRES_PORT = 54329;

async function startOwnPostgres(started: Started): Promise<string> {
  const dataDir = path.join(DATA_DIR, 'postgres');
  const isNew = !existsSync(dataDir);
  await checkMigrations(isNew);
  const starting = startPostgres({ dataDir, port: await keepPort(POSTGRES_PORT), log: print });
  const postgres = await (isNew ? starting : withRecoveryHint(starting, START_OVER));
  // Another one if a connection of this machine has taken it meanwhile.
  recordPort(POSTGRES_PORT, Number(new URL(postgres.url).port));
  started(postgres);
  stopWhenEnded(postgres.exited, 'Postgres');
  return postgres.url;
}

/** @throws StartError if the migrations that created the database have changed since, as only before a release */
async function checkMigrations(isNew: boolean): Promise<void> {
  const file = path.join(DATA_DIR, 'migrations.json');
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  const known = Object.fromEntries((await readMigrations()).map(({ name, sql }) => [name, hash(sql)]));
  const applied = isNew ? {} : (readJson(file) as Record<string, string> | undefined);
  if (!applied || Object.keys(applied).some((name) => applied[name] !== known[name]))
    throw new StartError(
      `An earlier build has created ${DATA_DIR}, with other tables: mv '${DATA_DIR}' '${DATA_DIR}.old' and start again, with new data.`,
    );
  await writeFile(file, JSON.stringify(known));
}

async function startOwnTemporal(started: Started): Promise<Required<Pick<Servers, 'temporal' | 'temporalUiUrl'>>> {
  const dataDir = path.join(DATA_DIR, 'temporal');
  const isNew = !existsSync(dataDir);
  const starting = startTemporal({
    ...{ dataDir, log: print },
    port: await keepPort(7233),
    uiPort: await keepPort(8233),
  });
  const cure = `rm -r '${dataDir}'. The orders are in Postgres, and open ones resume from there.`;
  const { address, uiUrl = '', ...server } = await (isNew ? starting : withRecoveryHint(starting, cure));
  started(server);
  stopWhenEnded(server.exited, 'Temporal');
  return { temporal: { connectionOptions: { address }, namespace: 'default' }, temporalUiUrl: uiUrl };
}

/** Explains how to continue if data of an earlier start prevents this one. */
export async function withRecoveryHint<T>(starting: Promise<T>, cure: string): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${(error as Error).message.replaceAll('\n', ' ')}. If the data is damaged: ${cure}`);
  }
}

/** Stops the whole service if Postgres or Temporal ends unexpectedly. */
function stopWhenEnded(exited: Promise<string>, name: string): void {
  void exited.then((how) => {
    if (stopping) return;
    print(`${name} stopped unexpectedly: ${how}`);
    process.kill(process.pid, 'SIGTERM');
  });
}
