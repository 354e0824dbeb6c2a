import { resolve } from 'node:path';
import { stopLeftover } from './child';
import { findTemporal } from './find-temporal';
import { choosePort } from './ports';
import { launchTemporal, pidFiles, type Launched } from './temporal-launch';
import { serverReady, uiReady } from './temporal-ready';

export { prepareTemporal } from './find-temporal';

export type TemporalServer = {
  /** host:port of the frontend. */
  address: string;
  uiUrl: string | undefined;
  pid: number;
  /** Resolves with a word on how the server ended, also when nobody asked it to. */
  exited: Promise<string>;
  stop(): Promise<void>;
  /** Sends a signal to the server, for tests of what a crash does; after SIGKILL waits until it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
};

export type TemporalOptions = {
  /** Where workflows are kept, with the logs beside them. */
  dataDir: string;
  /** Another one is taken where this is not free; `address` says which. */
  port: number;
  uiPort: number;
  log: (line: string) => void;
  /** Whether the Web UI is started too; true by default. */
  ui?: boolean;
  /** The namespace that the UI opens with; registering it is the caller's part. */
  namespace?: string;
  /** False, for tests: nothing is flushed to disk, so data survive a killed server, but not a machine that goes down. */
  durable?: boolean;
};

/** Finds or makes a Temporal server and starts it on 127.0.0.1, on new data or on what `dataDir` holds. */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const { log, ui = true, namespace = 'default', durable = true } = options;
  const dataDir = resolve(options.dataDir);
  const programs = await findTemporal({ log, ui });
  await stopLeftoverTemporal(dataDir);
  // Only now: a build can take minutes, and what was free before it may be taken after it.
  const port = await choosePort(options.port);
  const uiPort = ui ? await choosePort(options.uiPort) : undefined;

  const address = `127.0.0.1:${port}`;
  const uiUrl = `http://127.0.0.1:${uiPort ?? ''}`;
  const launch = { dataDir, port, uiPort, namespace, durable, log };
  for (let triesLeft = 2; ; triesLeft -= 1) {
    const launched = await launchTemporal(programs, launch);
    const problem = await serverReady(launched.server, address);
    if (problem === undefined) {
      launched.keepData();
      return running(launched, address, (await uiAnswers(launched, uiUrl, log)) ? uiUrl : undefined);
    }
    await stopAll(launched);
    // One of its inner ports went to somebody else between being found free and being bound.
    if (triesLeft === 0 || !problem.includes('address already in use'))
      throw new Error(`Temporal did not start: ${problem}`);
  }
}

/** Ends servers that a killed run left on this data: they may hold the ports that are wanted. */
async function stopLeftoverTemporal(dataDir: string): Promise<void> {
  const { server, ui } = pidFiles(resolve(dataDir));
  await stopLeftover({ name: 'Temporal', pidFile: server });
  await stopLeftover({ name: 'The Temporal UI', pidFile: ui });
}

function running(launched: Launched, address: string, uiUrl: string | undefined): TemporalServer {
  const { pid, exited } = launched.server;
  return { address, uiUrl, pid, exited, kill: (signal) => launched.server.kill(signal), stop: () => stopAll(launched) };
}

async function uiAnswers({ ui }: Launched, url: string, log: (line: string) => void): Promise<boolean> {
  if (!ui) return false;
  const problem = await uiReady(ui, url);
  if (problem !== undefined) log(`Temporal: no Web UI: ${problem}`);
  return problem === undefined;
}

async function stopAll({ server, ui }: Launched): Promise<void> {
  await Promise.all([server.stop(), ui?.stop()]);
}
