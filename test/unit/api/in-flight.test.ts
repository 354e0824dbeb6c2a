import { setImmediate } from 'node:timers/promises';
import { limitInFlight } from '../../../src/api/in-flight';
import type { Context } from '../../../src/api/context';

const contextOf = (sellerId: string) =>
  ({ state: { caller: { kind: 'seller', seller: { id: sellerId } } }, params: {} }) as unknown as Context;

/** Sends requests of a seller through the limit. Each runs until it is released. */
function sender(limit: ReturnType<typeof limitInFlight>) {
  let running = 0;
  const release: (() => void)[] = [];
  const send = (sellerId: string) =>
    limit(contextOf(sellerId), async () => {
      running++;
      await new Promise<void>((resolve) => release.push(resolve));
      running--;
    });
  return { send, release: () => release.shift()?.(), running: () => running };
}

test('requests beyond the limit of a seller wait in order, and those of another seller do not', async () => {
  const { send, release, running } = sender(limitInFlight(2, 'wait'));
  const sent = [send('a'), send('a'), send('a'), send('b')];
  await setImmediate();
  expect(running()).toBe(3);
  release();
  await sent[0];
  await setImmediate();
  expect(running()).toBe(3);
  for (let left = 3; left > 0; left--) {
    release();
    await setImmediate();
  }
  await Promise.all(sent);
  expect(running()).toBe(0);
});

test('requests beyond the limit of a seller fail with 429 if they may not wait', async () => {
  const { send, release } = sender(limitInFlight(1, 'fail'));
  const first = send('a');
  await setImmediate();
  await expect(send('a')).rejects.toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '1' } });
  const other = send('b');
  await setImmediate();
  release();
  release();
  await Promise.all([first, other]);
  const next = send('a');
  await setImmediate();
  release();
  await next;
});

test('a request that fails frees its slot', async () => {
  const limit = limitInFlight(1, 'fail');
  const failing = limit(contextOf('a'), () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  await limit(contextOf('a'), () => Promise.resolve());
});
