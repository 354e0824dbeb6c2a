import { createKeyedSemaphore } from '../../../src/webhooks/attempt-limits';

let nowMs = 0;
beforeEach(() => (nowMs = 1_000_000));
const semaphore = (limit: number) => createKeyedSemaphore(limit, () => nowMs);

test('a key gets as many slots as its limit, and other keys get theirs', () => {
  const slots = semaphore(2);
  expect([slots.acquireOrWaitMs('a'), slots.acquireOrWaitMs('a'), slots.acquireOrWaitMs('b')]).toEqual([0, 0, 0]);
  expect(slots.acquireOrWaitMs('a')).toBeGreaterThan(0);
  slots.release('a', 10);
  expect(slots.acquireOrWaitMs('a')).toBe(0);
});

test('the callers that are refused get turns at the rate at which slots become free, however many they are', () => {
  const slots = semaphore(10);
  for (let count = 0; count < 10; count++) slots.acquireOrWaitMs('a');
  for (let count = 0; count < 200; count++) {
    slots.release('a', 2000);
    slots.acquireOrWaitMs('a');
  }
  const turns = Array.from({ length: 15_000 }, () => slots.acquireOrWaitMs('a'));
  // Ten slots of two seconds: five a second.
  expect(turns.at(0)).toBeCloseTo(200, -1);
  expect(turns.at(-1)! / 1000).toBeCloseTo(3000, -2);
  const late = Array.from({ length: 15_000 }, () => slots.acquireOrWaitMs('a')).slice(-10_000);
  expect(Math.max(...late)).toBeLessThanOrEqual(3_600_000);
  expect(Math.min(...late)).toBeGreaterThan(1_700_000);
  expect(new Set(late).size).toBeGreaterThan(9_000);
});

test('if no slot becomes free, the turns get further apart', () => {
  const slots = semaphore(10);
  for (let count = 0; count < 10; count++) slots.acquireOrWaitMs('a');
  nowMs += 15_000;
  expect(slots.acquireOrWaitMs('a')).toBe(1500);
});

test('a caller that is refused always waits, even if the clock ticks meanwhile', () => {
  const slots = createKeyedSemaphore(1000, () => nowMs++);
  for (let count = 0; count < 1000; count++) slots.acquireOrWaitMs('a');
  for (let count = 0; count < 200; count++) {
    slots.release('a', 1);
    slots.acquireOrWaitMs('a');
  }
  const turns = Array.from({ length: 20 }, () => slots.acquireOrWaitMs('a'));
  expect(Math.min(...turns)).toBeGreaterThan(0);
});
