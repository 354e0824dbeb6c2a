import { ConfigError } from './config';
import { SchemaError } from './db/migrations';

/** The process cannot start, for a reason that its message explains to the person who started it. */
export class StartError extends Error {}

/** A part of a process that runs until `stop`, which drains it. */
export interface ProcessPart {
  stop(): Promise<void>;
  /** The time in ms that `stop` gives to running work. Default: 0. */
  stopsWithinMs?: number;
}

/** Exit codes after a second signal. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** npm passes on a signal that the terminal has sent to the whole process group: one Ctrl-C arrives twice. */
const SAME_SIGNAL_MS = 1000;

/** A process that has not stopped this long after its parts' time is killed. The next process resumes the work. */
const STOP_LIMIT_MS = 20_000;

/**
 * Runs an entry point. SIGINT, SIGTERM or SIGHUP (a closed terminal) stops the started parts in reverse order, even
 * during the start. A second signal, more than a second later, ends the process immediately. If the start fails, its
 * error is printed and the exit code is 1. It is 0 only after a signal.
 * @param start calls `started` for each part that it has started
 */
export async function runUntilSignalled(
  start: (started: (part: ProcessPart) => void) => Promise<void>,
  onStop?: () => void,
): Promise<void> {
  const parts: ProcessPart[] = [];
  let stopping: Promise<void> | undefined;
  let signalledAt = 0;

  async function stop(exitCode: number): Promise<void> {
    const limitMs = parts.reduce((sum, { stopsWithinMs = 0 }) => sum + stopsWithinMs, STOP_LIMIT_MS);
    setTimeout(() => {
      console.error('a part did not stop in time: killing the process');
      // process.exit can wait for the SDK's native threads.
      process.kill(process.pid, 'SIGKILL');
    }, limitMs).unref();
    onStop?.();
    for (const part of parts.reverse()) {
      await part.stop().catch((error: unknown) => {
        console.error(error);
        exitCode ||= 1;
      });
    }
    process.exit(exitCode);
  }

  const onSignal = (signal: NodeJS.Signals): void => {
    if (!stopping) {
      signalledAt = performance.now();
      stopping = stop(0);
      // A terminal that closes can send SIGHUP again.
    } else if (signal !== 'SIGHUP' && performance.now() - signalledAt > SAME_SIGNAL_MS) {
      process.exit(EXIT_CODES[signal as keyof typeof EXIT_CODES]);
    }
  };
  for (const signal of Object.keys(EXIT_CODES)) process.on(signal, onSignal);
  // After SIGHUP, the terminal no longer takes output.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.once('beforeExit', () => {
    console.error('the process has nothing left to do');
    process.exit(1);
  });
  try {
    await start((part) => parts.push(part));
  } catch (error) {
    // Stopping a part during the start can make the start fail.
    if (!stopping) console.error(isExplained(error) ? error.message : error);
    await (stopping ??= stop(1));
  }
}

/** True if the message alone explains the error to the person who started the process. */
export function isExplained(error: unknown): error is Error {
  return error instanceof ConfigError || error instanceof SchemaError || error instanceof StartError;
}
