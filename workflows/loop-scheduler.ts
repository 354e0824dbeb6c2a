import { condition } from '@temporalio/workflow';
import { Mutex } from 'async-mutex';

/** The loops of a run that wait for timers and activities, in the order in which they continue. */
export const LOOPS = { expiry: 0, decisions: 1, deliveries: 2 } as const;
type Loop = (typeof LOOPS)[keyof typeof LOOPS];

/**
 * Lets the loops of a run continue one at a time. Events that reach a worker one after the other, such as a timer and
 * then the end of a local activity that took long, reach it together when the run is replayed. So that it then decides
 * the same and issues its commands in the same order, a loop continues after an event only when nothing else runs: no
 * local activity, no code that one has resumed, and no loop that comes before it.
 */
export class LoopScheduler {
  private readonly mutex = new Mutex();
  private readonly waiting = new Set<Loop>();

  /** True while `work` runs or waits. */
  get isBusy(): boolean {
    return this.mutex.isLocked();
  }

  /**
   * Runs `work`, which may call local activities, alone. A loop that then starts a timer or an activity first awaits
   * `waitToContinue`.
   */
  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.mutex.runExclusive(work);
  }

  /** Waits until nothing else runs, so that the loop may continue. It runs alone until it waits for something. */
  async waitToContinue(loop: Loop): Promise<void> {
    this.waiting.add(loop);
    let isReevaluated = false;
    try {
      // `condition` evaluates this immediately, and again each time that all other code has run as far as it can.
      await condition(() => {
        const isFirst = ![...this.waiting].some((other) => other < loop);
        const mayContinue = isReevaluated && !this.isBusy && isFirst;
        isReevaluated = true;
        return mayContinue;
      });
    } finally {
      this.waiting.delete(loop);
    }
  }

  /** Starts a timer or an activity, and waits for its result and until the loop may continue. */
  async runCommand<T>(loop: Loop, command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } finally {
      await this.waitToContinue(loop);
    }
  }

  /**
   * Waits until `isMet` is true, which is evaluated only while no `work` runs, and until the loop may continue.
   * @param timer also ends the wait after `ms` milliseconds
   */
  async waitUntil(loop: Loop, isMet: () => boolean, timer?: { ms: number; summary: string }): Promise<void> {
    const mayContinue = (): boolean => !this.isBusy && isMet();
    await this.runCommand<unknown>(loop, () =>
      timer ? condition(mayContinue, timer.ms, { summary: timer.summary }) : condition(mayContinue),
    );
  }
}
