import { setImmediate } from 'node:timers/promises';
import { limitPerKey } from '../../../src/concurrency';

const TOO_LATE = new Error('too late');

/** Work that runs until it is finished. */
function createWork(maxWaitMs = 60_000) {
  const limit = limitPerKey(2, maxWaitMs, TOO_LATE);
  const running = new Map<string, () => void>();
  const start = (name: string) => limit.run(name.charAt(0), () => new Promise<void>((end) => running.set(name, end)));
  const finish = async (name: string): Promise<void> => {
    running.get(name)!();
    running.delete(name);
    await setImmediate();
  };
  return { running, start, finish };
}

test('work of one key waits in order, and work of another does not wait for it', async () => {
  const { running, start, finish } = createWork();
  const done = Promise.all(['a1', 'a2', 'a3', 'a4', 'b1'].map(start));
  await setImmediate();
  expect([...running.keys()]).toEqual(['a1', 'a2', 'b1']);
  await finish('a2');
  expect([...running.keys()]).toEqual(['a1', 'b1', 'a3']);
  for (const name of ['a1', 'a3', 'a4', 'b1']) await finish(name);
  await done;
});

test('work that has waited too long never runs, and what comes after it does', async () => {
  const { running, start, finish } = createWork(50);
  const first = ['a1', 'a2'].map(start);
  await expect(start('a3')).rejects.toBe(TOO_LATE);
  const last = start('a4');
  await finish('a1');
  expect([...running.keys()]).toEqual(['a2', 'a4']);
  await finish('a2');
  await finish('a4');
  await Promise.all([...first, last]);
});
