import { setImmediate } from 'node:timers/promises';
import { takeTurns } from '../../../src/api/take-turns';

/** Sends requests that fail at their end, and records which have begun. */
function createClient() {
  const turns = takeTurns();
  const begun: string[] = [];
  const send = (address: string, name: string): void => {
    const request = turns({ ip: address }, () => {
      begun.push(name);
      return Promise.reject(new Error('no'));
    });
    void request.catch(() => undefined);
  };
  return { begun, send };
}

test('a request begins at once if no other has begun in this turn of the event loop', async () => {
  const { begun, send } = createClient();
  for (const name of ['first', 'second']) {
    send('10.0.0.1', name);
    expect(begun).toContain(name);
    await setImmediate();
    await setImmediate();
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
