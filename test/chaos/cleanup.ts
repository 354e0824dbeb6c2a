import { setTimeout as delay } from 'node:timers/promises';
import { type Part, resume } from './part';

/** A part that takes longer to start is ended by its process. */
const STARTED_WITHIN_MS = 30_000;

/** Undoes everything that was begun, the newest first, at whatever moment it is run. */
export interface Cleanup {
  /** Call it before the thing is begun. Throws once the cleanup runs, so that nothing else is begun. */
  add: (step: () => unknown) => void;
  /** Runs the steps once, and again returns the same promise. */
  run: () => Promise<void>;
}

export function createCleanup(): Cleanup {
  const steps: (() => unknown)[] = [];
  let running: Promise<void> | undefined;
  async function undo(): Promise<void> {
    // The children of the stack are not waited for otherwise: the process would end before they have.
    const waiting = setInterval(() => undefined, 1000);
    for (let step = steps.pop(); step; step = steps.pop()) {
      try {
        await step();
      } catch (error) {
        console.error('cleaning up:', error);
      }
    }
    clearInterval(waiting);
  }
  return {
    add(step) {
      if (running) throw new Error('the stack is being stopped');
      steps.push(step);
    },
    run: () => (running ??= undo()),
  };
}

/** Has the cleanup end the part, also one that is being started or frozen. After that the part does not start again. */
export function endWith<P extends Part>(cleanup: Cleanup, part: P): P {
  const { start } = part;
  let starting: Promise<void> | undefined;
  let isOver = false;
  cleanup.add(async () => {
    isOver = true;
    await Promise.race([starting?.catch(() => undefined), delay(STARTED_WITHIN_MS, undefined, { ref: false })]);
    resume(part);
    await part.end('SIGKILL');
  });
  part.start = () => {
    if (isOver) return Promise.reject(new Error('the stack is being stopped'));
    return (starting = start());
  };
  return part;
}
