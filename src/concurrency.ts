import { setTimeout as delay } from 'node:timers/promises';
import { Semaphore, withTimeout } from 'async-mutex';
import type { Logger } from 'pino';

/**
 * Runs at most `limit` pieces of work of each key at the same time. Further ones wait in order.
 * @param tooLate thrown by `run` if the work has waited for longer than `maxWaitMs`. The work has not started.
 */
export function limitPerKey(limit: number, maxWaitMs: number, tooLate: Error) {
  const create = () => withTimeout(new Semaphore(limit), maxWaitMs, tooLate);
  const semaphores = new Map<string, ReturnType<typeof create>>();
  return {
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const semaphore = semaphores.get(key) ?? create();
      semaphores.set(key, semaphore);
      try {
        return await semaphore.runExclusive(work);
      } finally {
        if (semaphore.getValue() === limit) semaphores.delete(key);
      }
    },
  };
}

/**
 * Runs jobs again and again. One that fails is repeated in its next round. A long one ends when `stop` aborts.
 * @param jobs each with the pause between two rounds, in ms
 * @returns a function that stops the jobs and resolves once they have stopped
 */
export function repeatJobs(
  jobs: readonly (readonly [job: (stop: AbortSignal) => Promise<unknown>, everyMs: number])[],
  log: Logger,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function repeat(job: (stop: AbortSignal) => Promise<unknown>, everyMs: number): Promise<void> {
    while (!signal.aborted) {
      await job(signal).catch((error: unknown) => log.warn({ err: error }, 'a background job failed, retrying later'));
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  const running = Promise.all(jobs.map(([job, everyMs]) => repeat(job, everyMs)));
  return async () => {
    stopping.abort();
    await running;
  };
}
