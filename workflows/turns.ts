import { condition } from '@temporalio/workflow';
import { Mutex } from 'async-mutex';

/**
 * The code of a run issues its commands in turns. Events that reach a worker one after the other, such as a timer and then the
 * end of a local activity that took long, reach it together when the run is replayed. Without turns, the code that they
 * continue would then issue its commands in another order, and the run could not continue on another worker.
 */
export class Turns {
  private readonly mutex = new Mutex();

  /** True while `work` runs or waits. */
  get isTaken(): boolean {
    return this.mutex.isLocked();
  }

  /** Runs `work`, which may make local activities, alone. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.mutex.runExclusive(work);
  }

  /** Issues a command when no `work` runs, and all code that the last one has resumed has run. */
  async begin<T>(command: () => T | Promise<T>): Promise<T> {
    let isAsked = false;
    // `condition` evaluates this immediately, and again each time that all other code has run as far as it can.
    await condition(() => {
      const mayBegin = isAsked && !this.isTaken;
      isAsked = true;
      return mayBegin;
    });
    return command();
  }
}
