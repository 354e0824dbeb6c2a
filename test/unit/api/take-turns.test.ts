import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { takeTurns } from '../../../src/api/take-turns';

/** Sends requests that fail at their end, and records which have begun. */
function createClient() {
  const turns = takeTurns();
  const begun: string[] = [];
  const send = (ip: string, name: string, path = '/') => {
    const socket = { destroyed: false, destroy: () => (socket.destroyed = true) };
    const request = { ip, path, socket: socket as unknown as Socket, status: 404 };
    const end = turns(request, () => {
      begun.push(name);
      return Promise.reject(new Error('no'));
    });
    void end.catch(() => undefined);
    return request;
  };
  const turn = async (): Promise<void> => {
    await setImmediate();
    await setImmediate();
  };
  return { begun, send, turn };
}

test('a request begins at once if no other has begun in this turn of the event loop', async () => {
  const { begun, send, turn } = createClient();
  for (const name of ['first', 'second']) {
    send('10.0.0.1', name);
    expect(begun).toContain(name);
    await turn();
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
  const { begun, send, turn } = createClient();
  send('10.0.0.1', 'first');
  const gone = Array.from({ length: 1000 }, (_, index) => send('10.0.0.1', `gone ${index}`));
  for (const { socket } of gone) socket.destroy();
  send('10.0.0.1', 'last');
  await turn();
  expect(begun).toEqual(['first', 'last']);
  expect(new Set(gone.map(({ status }) => status))).toEqual(new Set([499]));
});

test('an address with 2,000 waiting requests loses the connections of further ones', async () => {
  const { begun, send, turn } = createClient();
  const requests = Array.from({ length: 2002 }, (_, index) => send('10.0.0.1', String(index)));
  expect(requests.filter(({ socket }) => socket.destroyed)).toEqual([requests[2001]]);
  send('10.0.0.2', 'other');
  await turn();
  await turn();
  expect(begun).toContain('other');
});
