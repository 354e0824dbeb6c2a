import { ConfigError } from './config';
import { SchemaError } from './db/schema-check';

/** Something that runs until it is asked to stop, then drains. */
export interface Running {
  stop(): Promise<void>;
}

/** Above what any part grants its own work; what is cut off here is taken up by the next process. */
const STOP_LIMIT_MS = 60_000;

/**
 * Runs an entry point. On SIGINT or SIGTERM what was started is stopped, the last first, also where the start is still
 * under way; a second signal ends the process at once. What goes wrong at the start is told plainly.
 */
export async function runUntilSignalled(
  start: (started: (running: Running) => void) => Promise<void>,
  onStop?: () => void,
): Promise<void> {
  const running: Running[] = [];
  let stopping: Promise<void> | undefined;

  async function stop(exitCode: number): Promise<void> {
    setTimeout(() => {
      console.error('a part did not stop in time: ending without it');
      // An ordinary exit may itself wait for the SDK's native threads.
      process.kill(process.pid, 'SIGKILL');
    }, STOP_LIMIT_MS).unref();
    onStop?.();
    for (const part of running.reverse()) {
      await part.stop().catch((error: unknown) => {
        console.error(error);
        exitCode ||= 1;
      });
    }
    process.exit(exitCode);
  }

  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(signal === 'SIGINT' ? 130 : 143);
    stopping = stop(0);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    await start((part) => running.push(part));
  } catch (error) {
    // A part that was stopped under a start still under way may well fail it.
    if (!stopping) console.error(error instanceof ConfigError || error instanceof SchemaError ? error.message : error);
    await (stopping ??= stop(1));
  }
}
