import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/**
 * Runs jobs again and again. One that fails is repeated in its next round.
 * @param jobs each with the pause between two rounds, in ms
 * @returns a function that stops the jobs and resolves once they have stopped
 */
export function repeatJobs(
  jobs: readonly (readonly [job: () => Promise<unknown>, everyMs: number])[],
  log: Logger,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function repeat(job: () => Promise<unknown>, everyMs: number): Promise<void> {
    while (!signal.aborted) {
      await job().catch((error: unknown) => log.warn({ err: error }, 'a background job failed, retrying later'));
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  const running = Promise.all(jobs.map(([job, everyMs]) => repeat(job, everyMs)));
  return async () => {
    stopping.abort();
    await running;
  };
}
