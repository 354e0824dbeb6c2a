import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { dropAbandoned, limitInFlight } from '../../../src/api/in-flight';
import type { Context } from '../../../src/api/context';

function contextOf(sellerId: string) {
  const res = new EventEmitter();
  const socket = { destroyed: false, readableEnded: false };
  const state = { caller: { kind: 'seller', seller: { id: sellerId } } };
  return { state, params: {}, res, socket, status: 404 };
}

/** Sends requests of a seller through the limit. Each runs until it is released: until its response is closed. */
function sender(limit: ReturnType<typeof limitInFlight>) {
  let running = 0;
  const release: (() => void)[] = [];
  const send = (sellerId: string) => {
    const ctx = contextOf(sellerId);
    return limit(ctx as unknown as Context, async () => {
      running++;
      await new Promise<void>((resolve) => release.push(resolve));
      running--;
    }).finally(() => ctx.res.emit('close'));
  };
  return { send, release: () => release.shift()?.(), running: () => running };
}

test('requests beyond the limit of a seller wait in order, and those of another seller do not', async () => {
  const { send, release, running } = sender(limitInFlight(2));
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

test('a request holds its slot until its response is read or its connection ends, also if it fails', async () => {
  const limit = limitInFlight(1);
  const unread = contextOf('a');
  const failing = limit(unread as unknown as Context, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  let isRunning = false;
  const next = limit(contextOf('a') as unknown as Context, () => Promise.resolve(void (isRunning = true)));
  await setImmediate();
  expect(isRunning).toBe(false);
  unread.res.emit('close');
  await next;
  expect(isRunning).toBe(true);
});

test('a request that has waited for too long is refused, and takes no slot', async () => {
  const { send, release, running } = sender(limitInFlight(1, 50));
  const first = send('a');
  await expect(send('a')).rejects.toMatchObject({ code: 'service_unavailable', headers: { 'Retry-After': '5' } });
  release();
  await first;
  const next = send('a');
  await setImmediate();
  expect(running()).toBe(1);
  release();
  await next;
});

test('a request whose client has gone before it came here holds no slot', async () => {
  const limit = limitInFlight(1);
  const gone = contextOf('a');
  gone.socket.destroyed = true;
  Object.assign(gone.res, { closed: true });
  await limit(gone as unknown as Context, () => Promise.resolve());
  await setImmediate();
  await limit(contextOf('a') as unknown as Context, () => Promise.resolve());
});

test('a request whose client has gone while it waited does not run', async () => {
  const { send, release } = sender(limitInFlight(1));
  const first = send('a');
  await setImmediate();
  release();
  await first;
  const gone = contextOf('a');
  gone.socket.destroyed = true;
  const limit = limitInFlight(1);
  await limit(gone as unknown as Context, () => Promise.reject(new Error('it runs')));
  expect(gone.status).toBe(499);
});

test.each([
  ['GET', 1, 404],
  ['DELETE', 0, 499],
])('a %s of a client that has closed its half of the connection runs %d times', async (method, times, status) => {
  const ctx = { ...contextOf('a'), method, body: undefined };
  ctx.socket.readableEnded = true;
  let runs = 0;
  await dropAbandoned(ctx as unknown as Context, () => Promise.resolve(runs++));
  await limitInFlight(1)(ctx as unknown as Context, () => Promise.resolve(runs++));
  expect([runs, ctx.status]).toEqual([2 * times, status]);
});
