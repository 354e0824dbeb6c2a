import path from 'node:path';
import { type ServiceProcess, startProcess } from '../support/processes';
import { type Part, restart } from './part';

/** How one process of the service is started. */
export interface Launch {
  env: Record<string, string>;
  /** A file of test/chaos/preload/, loaded before the service. The service itself has no code for faults. */
  preload?: 'full-log' | 'kill-at' | 'shift-clock' | 'wrong-workflow';
  /** Another version's folder with its `dist/`. */
  root?: string;
}

export interface ServicePart extends Part {
  /** Changes how the process is started from now on: in addition to its usual settings. */
  relaunchWith: (launch: Partial<Launch>) => void;
  isRelaunched: () => boolean;
  /** True if it has ended by itself: with an exit code, and not by a signal. */
  hasExited: () => boolean;
  /** The end of its log. */
  log: () => string[];
}

/** Restarts processes with further settings. `restore` of the stack takes them back. */
export async function relaunch(parts: readonly ServicePart[], env: Record<string, string>): Promise<void> {
  for (const part of parts) part.relaunchWith({ env });
  await Promise.all(parts.map((part) => restart(part, 'SIGTERM')));
}

const LOG_LINES = 2000;
/** As in the image, in a container of 1 GB. */
const IN_CONTAINER = ['--max-semi-space-size=16', '--max-old-space-size=512'];

/** @param via the start of the command, for a process on another machine */
export function createServicePart(
  name: string,
  entry: 'server' | 'worker',
  env: Record<string, string>,
  via: readonly string[] = [],
): ServicePart {
  let running: ServiceProcess | undefined;
  let launch: Partial<Launch> = {};
  const isRunning = (): boolean => running?.isRunning() ?? false;
  return {
    name,
    isRunning,
    pids: () => (isRunning() ? [running!.pid] : []),
    async start() {
      const { preload, root } = launch;
      running = await startProcess(
        entry,
        { ...env, ...launch.env },
        {
          via,
          nodeOptions: [
            ...IN_CONTAINER,
            ...(preload ? ['--require', path.join(__dirname, 'preload', `${preload}.js`)] : []),
          ],
          ...(root !== undefined && { root }),
        },
      );
    },
    async end(signal) {
      if (!isRunning()) return;
      await running!.signal(signal);
      const code = running!.exitCode();
      // The product promises it, whatever else has ended.
      if (signal === 'SIGTERM' && code !== 0) throw new Error(`${name} ended with ${code ?? 'a signal'} after SIGTERM`);
    },
    hasExited: () => !isRunning() && running?.exitCode() != null,
    relaunchWith: (next) => (launch = next),
    isRelaunched: () => Object.keys(launch).length > 0,
    log() {
      const lines = running?.lines ?? [];
      if (lines.length > LOG_LINES) lines.splice(0, lines.length - LOG_LINES);
      return lines;
    },
  };
}
