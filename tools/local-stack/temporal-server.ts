import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { type Child, startChild, stopLeftover } from './child';
import { choosePort } from './ports';
import { findTemporalCli } from './temporal-cli';

export interface TemporalServer extends Pick<Child, 'pid' | 'exited' | 'stop' | 'kill'> {
  /** host:port of the frontend. */
  address: string;
  uiUrl: string | undefined;
}

interface TemporalOptions {
  /** The folder of the workflow database and the log. */
  dataDir: string;
  /** The preferred port. If it is in use, the server gets another one; see `address`. */
  port: number;
  uiPort: number;
  log: (line: string) => void;
  /** Whether to start the Web UI. Default: true. */
  ui?: boolean;
  /** Default: true. False is for tests: no flushing to disk, and `FOR_TESTS`. */
  durable?: boolean;
}

/** Higher than any rate that a load test on one machine reaches. */
const NO_LIMIT = 1_000_000;

/** The names are those of common/dynamicconfig/constants.go in the server. Limits of a workflow are the defaults. */
const DYNAMIC_CONFIG: Record<string, boolean | number> = {
  'system.enableEagerWorkflowStart': true,
  // Sellers take turns while tasks wait for a worker.
  'matching.enableFairness': true,
  // Makes a new search attribute usable immediately.
  'system.forceSearchAttributesCacheRefreshOnRead': true,
  'frontend.rps': NO_LIMIT,
  'frontend.namespaceRPS': NO_LIMIT,
  'frontend.namespaceRPS.visibility': NO_LIMIT,
  'frontend.namespaceCount': NO_LIMIT,
  'frontend.persistenceMaxQPS': NO_LIMIT,
  'history.rps': NO_LIMIT,
  'history.persistenceMaxQPS': NO_LIMIT,
  'matching.rps': NO_LIMIT,
  'matching.persistenceMaxQPS': NO_LIMIT,
  'worker.persistenceMaxQPS': NO_LIMIT,
};

const FOR_TESTS = {
  // It takes a test minutes to fill a history.
  'limit.historyCount.suggestContinueAsNew': 300,
  // Each test file has a namespace, and the server's own workers in each cost processor time.
  'worker.perNamespaceWorkerCount': 0,
  'system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute': 1,
};

/** Milliseconds. */
const START_LIMIT_MS = 60_000;
/** Another process can take a port after the check that it is free and before the server binds it. */
const PORT_TRIES = 3;

/** Starts Temporal's development server on 127.0.0.1. Creates `dataDir` if it does not exist. */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const { log, ui = true, durable = true } = options;
  const dataDir = resolve(options.dataDir);
  const cli = await findTemporalCli(log);
  mkdirSync(dataDir, { recursive: true });
  const inDataDir = (name: string): string => join(dataDir, name);
  const [database, pidFile] = [inDataDir('temporal.db'), inDataDir('temporal.pid')];
  await stopLeftover(pidFile, database, 'SIGTERM');
  // The server would use a partly created schema as if it were complete.
  if (!existsSync(inDataDir('complete')))
    for (const suffix of ['', '-wal', '-shm']) rmSync(database + suffix, { force: true });

  for (let tries = 1; ; tries += 1) {
    const port = await choosePort(options.port);
    const uiPort = ui ? await choosePort(options.uiPort) : undefined;
    const address = `127.0.0.1:${port}`;
    const uiUrl = uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`;
    const args = ['--ip', '127.0.0.1', '--port', `${port}`, ...(uiPort ? ['--ui-port', `${uiPort}`] : ['--headless'])];
    args.push('--db-filename', database, '--sqlite-pragma', 'journal_mode=wal');
    args.push('--sqlite-pragma', `synchronous=${durable ? 2 : 0}`, '--log-level', 'error');
    for (const [name, value] of Object.entries({ ...DYNAMIC_CONFIG, ...(!durable && FOR_TESTS) }))
      args.push('--dynamic-config-value', `${name}=${value}`);
    const child = await startChild({
      name: 'Temporal',
      command: [cli, 'server', 'start-dev', ...args],
      cwd: dataDir,
      logFile: inDataDir('temporal.log'),
      stopSignal: 'SIGTERM',
    });
    writeFileSync(pidFile, `${child.pid}\n`);
    const problem = await child.untilReady(START_LIMIT_MS, () => answers(address, uiUrl).catch(() => false));
    if (problem === undefined) {
      writeFileSync(inDataDir('complete'), '');
      return { ...child, address, uiUrl };
    }
    await child.stop();
    const output = child.output();
    if (tries === PORT_TRIES || !output.includes('address already in use'))
      throw new Error(`Temporal did not start: ${problem}; the end of ${dataDir}/temporal.log:\n${output.trim()}`);
  }
}

/** True if the server can start and run workflows, and the UI reaches it: the UI's pages show an error before. */
async function answers(address: string, uiUrl: string | undefined): Promise<boolean> {
  const connection = await Connection.connect({
    ...{ address, connectTimeout: 1000 },
    channelArgs: { 'grpc.enable_http_proxy': 0 },
  });
  try {
    const namespace = { namespace: 'default' };
    await connection.withDeadline(Date.now() + 2000, () => connection.workflowService.describeNamespace(namespace));
  } finally {
    await connection.close();
  }
  if (uiUrl === undefined) return true;
  return (await fetch(`${uiUrl}/api/v1/namespaces`, { signal: AbortSignal.timeout(2000) })).ok;
}
