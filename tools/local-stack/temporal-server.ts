import { resolve } from 'node:path';
import { stopLeftover } from './child';
import { findTemporal } from './find-temporal';
import { choosePort } from './ports';
import { launchTemporal, pidFiles, type Launched } from './temporal-launch';
import { serverReady, uiReady } from './temporal-ready';

export { prepareTemporal } from './find-temporal';

export interface TemporalServer {
  /** host:port of the frontend. */
  address: string;
  uiUrl: string | undefined;
  pid: number;
  /** Resolves when the server has ended, for any reason, with a description of how it ended. */
  exited: Promise<string>;
  stop(): Promise<void>;
  /** For tests of crashes: sends a signal to the server. SIGKILL also waits until the server has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

interface TemporalOptions {
  /** The folder of the workflow database and the logs. */
  dataDir: string;
  /** The preferred port. If it is in use, the server gets another one; see `address`. */
  port: number;
  uiPort: number;
  log: (line: string) => void;
  /** Whether to start the Web UI. Default: true. */
  ui?: boolean;
  /** The namespace that the UI shows first. The caller registers it. Default: `default`. */
  namespace?: string;
  /** Default: true. False skips flushing to disk: data survive a killed server, but not a crash of the machine. */
  durable?: boolean;
}

/** Finds or builds a Temporal server and starts it on 127.0.0.1. Creates `dataDir` if it does not exist. */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const { log, ui = true, namespace = 'default', durable = true } = options;
  const dataDir = resolve(options.dataDir);
  const programs = await findTemporal({ log, ui });
  await stopLeftoverTemporal(dataDir);
  // After the build, which can take minutes: a port that was free before it may be in use now.
  const port = await choosePort(options.port);
  const uiPort = ui ? await choosePort(options.uiPort) : undefined;

  const address = `127.0.0.1:${port}`;
  const uiUrl = `http://127.0.0.1:${uiPort ?? ''}`;
  const launch = { dataDir, port, uiPort, namespace, durable, log };
  for (let triesLeft = 2; ; triesLeft -= 1) {
    const launched = await launchTemporal(programs, launch);
    const problem = await serverReady(launched.server, address);
    if (problem === undefined) {
      launched.markComplete();
      return running(launched, address, (await uiAnswers(launched, uiUrl, log)) ? uiUrl : undefined);
    }
    await stopAll(launched);
    // Another process took one of the internal ports between the check and the start.
    if (triesLeft === 0 || !problem.includes('address already in use'))
      throw new Error(`Temporal did not start: ${problem}`);
  }
}

/** Ends servers that a killed run left on these data. They may also hold the ports. */
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
