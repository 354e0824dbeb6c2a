import { setMaxListeners } from 'node:events';
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

/** A flood of unknown secrets takes no more connections than this, and known ones have as many of their own. */
const LOOKUPS_AT_ONCE = 4;
/** How long what was found is used. A change of it takes effect within this time. */
const FRESH_MS = 1000;
/** Secrets that are remembered as known, the latest: in memory, about 1 KB each. */
const MAX_KNOWN = 10_000;

/**
 * Looks up what a secret of a caller belongs to, such as an API key. A secret that was found lately never waits behind
 * unknown ones.
 * @param tooLate thrown if a lookup has waited for longer than `maxWaitMs`
 * @param freshMs how long what was found is used without another lookup
 * @returns a function that looks a secret up. `limit` runs the lookup of one that was not found lately, or refuses it
 */
export function createLookup<T>(
  find: (secret: string) => Promise<T | undefined>,
  maxWaitMs: number,
  tooLate: Error,
  freshMs = FRESH_MS,
) {
  const known = new Map<string, { value: T; readAt: number }>();
  const lane = () => withTimeout(new Semaphore(LOOKUPS_AT_ONCE), maxWaitMs, tooLate);
  const [knownLane, unknownLane] = [lane(), lane()];

  function freshValueOf(secret: string): T | undefined {
    const entry = known.get(secret);
    return entry && performance.now() - entry.readAt < freshMs ? entry.value : undefined;
  }
  async function lookUp(secret: string): Promise<T | undefined> {
    const fresh = freshValueOf(secret);
    if (fresh !== undefined) return fresh;
    // A slow query may have read a key before it was revoked.
    const readAt = performance.now();
    const value = await find(secret);
    known.delete(secret);
    if (value !== undefined) known.set(secret, { value, readAt });
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    return value;
  }
  return async (
    secret: string,
    limit: (run: () => Promise<T | undefined>) => Promise<T | undefined> = (run) => run(),
  ): Promise<T | undefined> => {
    const fresh = freshValueOf(secret);
    if (fresh !== undefined) return fresh;
    if (known.has(secret)) return knownLane.runExclusive(() => lookUp(secret));
    return limit(() => unknownLane.runExclusive(() => lookUp(secret)));
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
  // One for each job: no leak.
  setMaxListeners(jobs.length + 1, signal);

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
