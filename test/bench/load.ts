import { setTimeout as delay } from 'node:timers/promises';

/*
 * Load from a client of our own. autocannon speaks HTTP only, and the arms are also called through clients of Temporal;
 * a whole order is a sequence of different calls. So every arm gets its load from the same loops.
 */

/** Makes `count` calls, `clients` at a time, each as soon as the one before it has ended. Returns their times in ms. */
export async function closedLoop(
  clients: number,
  count: number,
  call: (index: number) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) times.push(await timed(() => call(index)));
  };
  await Promise.all(Array.from({ length: clients }, client));
  return times;
}

/**
 * Starts a call every `1000 / perSecond` ms, however long the calls take, and returns their times in ms. A time counts
 * from the planned start, so that a delayed start counts.
 */
export async function paced(
  perSecond: number,
  count: number,
  call: (index: number) => Promise<unknown>,
): Promise<number[]> {
  const start = performance.now();
  const calls: Promise<number>[] = [];
  for (let index = 0; index < count; index++) {
    const planned = start + (index * 1000) / perSecond;
    await delay(Math.max(planned - performance.now(), 0));
    // A timer is up to 1 ms early or late, which is noise of this client, and as long as a fast call.
    const now = performance.now();
    const begun = now > planned + 1 ? planned + 1 : now;
    const timing = call(index).then(() => performance.now() - begun);
    // Promise.all below reports a failure, after the last call has begun.
    timing.catch(() => undefined);
    calls.push(timing);
  }
  return Promise.all(calls);
}

export async function timed(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await call();
  return performance.now() - start;
}
