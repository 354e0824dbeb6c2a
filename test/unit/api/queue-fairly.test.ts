import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { queueFairly } from '../../../src/api/queue-fairly';

/** Sends requests that fail at their end, each by default on a connection of its own, and records which have begun. */
function createClient() {
  const middleware = queueFairly();
  const begun: string[] = [];
  const connect = () => {
    const socket = { destroyed: false, destroy: () => (socket.destroyed = true) };
    return socket;
  };
  const send = (ip: string, name: string, path = '/', socket = connect()) => {
    const request = { ip, path, socket: socket as unknown as Socket, status: 404 };
    const end = middleware(request, () => {
      begun.push(name);
      return Promise.reject(new Error('no'));
    });
    void end.catch(() => undefined);
    return request;
  };
  const nextIteration = async (): Promise<void> => {
    await setImmediate();
    await setImmediate();
  };
  return { begun, send, connect, nextIteration };
}

test('a request begins immediately if no other has begun in this turn of the event loop', async () => {
  const { begun, send, nextIteration } = createClient();
  for (const name of ['first', 'second']) {
    send('10.0.0.1', name);
    expect(begun).toContain(name);
    await nextIteration();
  }
});

test('one request begins per turn of the event loop, and addresses take turns', async () => {
  const { begun, send } = createClient();
  for (const name of ['a1', 'a2', 'a3', 'a4']) send('10.0.0.1', name);
  send('10.0.0.2', 'b1');
  expect(begun).toEqual(['a1']);
  const counts: number[] = [];
  while (begun.length < 5) {
    await setImmediate();
    counts.push(begun.length);
  }
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
  expect(Math.max(...counts.map((count, index) => count - (counts[index - 1] ?? 1)))).toBe(1);
});

test('health checks do not wait', () => {
  const { begun, send } = createClient();
  send('10.0.0.1', 'first');
  send('10.0.0.1', 'second');
  send('10.0.0.2', 'check', '/health/ready');
  expect(begun).toEqual(['first', 'check']);
});

test('requests whose client has gone do not begin, and hold up no other', async () => {
  const { begun, send, nextIteration } = createClient();
  send('10.0.0.1', 'first');
  const gone = Array.from({ length: 1000 }, (_, index) => send('10.0.0.1', `gone ${index}`));
  for (const { socket } of gone) socket.destroy();
  send('10.0.0.1', 'last');
  await nextIteration();
  expect(begun).toEqual(['first', 'last']);
  expect(new Set(gone.map(({ status }) => status))).toEqual(new Set([499]));
});

test('a path below /health/ that is no health check waits for its turn', () => {
  const { begun, send } = createClient();
  send('10.0.0.1', 'first');
  send('10.0.0.1', 'flood', '/health/other');
  expect(begun).toEqual(['first']);
});

test('connections of an address take turns', async () => {
  const { begun, send, connect } = createClient();
  const [flood, own] = [connect(), connect()];
  for (const name of ['first', 'a1', 'a2', 'a3']) send('10.0.0.1', name, '/', flood);
  send('10.0.0.1', 'b1', '/', own);
  while (begun.length < 5) await setImmediate();
  expect(begun).toEqual(['first', 'a1', 'b1', 'a2', 'a3']);
});

test('if 5,000 requests wait, the connection with most of them at the address with most of them is closed', async () => {
  const { begun, send, connect, nextIteration } = createClient();
  send('10.0.0.1', 'first');
  for (let index = 0; index < 1990; index++) send('10.0.0.2', 'other');
  const one = send('10.0.0.3', 'one');
  const [small, large] = [connect(), connect()];
  for (let index = 0; index < 1500; index++) send('10.0.0.3', 'small', '/', small);
  for (let index = 0; index < 1509; index++) send('10.0.0.3', 'large', '/', large);
  expect(large.destroyed).toBe(false);
  const newcomer = send('10.0.0.3', 'newcomer');
  expect([large, small, one.socket, newcomer.socket].map(({ destroyed }) => destroyed)).toEqual([
    true,
    false,
    false,
    false,
  ]);
  while (!begun.includes('newcomer')) await nextIteration();
  expect(begun).not.toContain('large');
});

test('at most 5,000 requests wait, however many addresses send them', () => {
  const { send } = createClient();
  const requests = Array.from({ length: 20_000 }, (_, index) => send(`10.0.${index % 100}.1`, String(index)));
  expect(requests.filter(({ socket }) => !socket.destroyed).length).toBeLessThanOrEqual(5001);
});
