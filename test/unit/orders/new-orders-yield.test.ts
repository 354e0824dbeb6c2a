import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { Db } from '../../../src/db/pool';
import type { Order, OrderHistory } from '../../../src/domain/order';
import { createAdmission } from '../../../src/orders/admission';
import { createAdaptiveLimit } from '../../../src/orders/background/adaptive-limit';
import { FairQueue } from '../../../src/concurrency/fair-queue';
import { createStartDelay } from '../../../src/orders/background/start-delay';
import { runWorkLoop } from '../../../src/orders/background/work-loop';
import { createWorkflowDispatcher } from '../../../src/orders/background/workflow-dispatcher';
import type { OrderWorkflows } from '../../../src/temporal/order-workflows';

/** For code that does not come to its first query. */
const NO_DB = undefined as unknown as Db;

test('owners of queued items take turns, and each gets its items in their order', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.push(item.charAt(0), item);
  const taken = Array.from({ length: queue.size }, () => queue.shift());
  expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  expect([queue.shift(), queue.size]).toEqual([undefined, 0]);
});

describe('inserts of new orders', () => {
  /** Inserts that run until they are finished, two at a time. */
  function createInserts() {
    const admission = createAdmission(NO_DB, { concurrency: 2, maxBacklogAgeMs: 1000 });
    const running = new Map<string, () => void>();
    const insert = (order: string): Promise<void> =>
      admission.insert(order.charAt(0), () => new Promise((resolve) => running.set(order, resolve)));
    const finish = async (order: string): Promise<void> => {
      running.get(order)!();
      running.delete(order);
      await setImmediate();
    };
    return { admission, running, insert, finish };
  }

  test('let sellers take turns', async () => {
    const { admission, running, insert, finish } = createInserts();
    const inserted = Promise.all(['a1', 'a2', 'a3', 'a4', 'b1'].map(insert));
    await setImmediate();
    expect([...running.keys()]).toEqual(['a1', 'a2']);
    expect(admission.hasQueue()).toBe(true);
    await finish('a1');
    await finish('a2');
    expect([...running.keys()]).toEqual(['a3', 'b1']);
    await finish('b1');
    expect([...running.keys()]).toEqual(['a3', 'a4']);
    expect(admission.hasQueue()).toBe(false);
    await finish('a3');
    await finish('a4');
    await inserted;
  });

  test('are refused after ten seconds in the queue, and do not run later', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { running, insert, finish } = createInserts();
      const inserted = ['a1', 'a2', 'a3'].map(insert);
      const refused = expect(inserted[2]).rejects.toMatchObject({
        code: 'overloaded',
        headers: { 'Retry-After': '5' },
      });
      jest.advanceTimersByTime(9_999);
      const late = insert('a4');
      jest.advanceTimersByTime(1);
      await refused;
      await finish('a1');
      expect([...running.keys()]).toEqual(['a2', 'a4']);
      await finish('a2');
      await finish('a4');
      await late;
    } finally {
      jest.useRealTimers();
    }
  });

  test('of a seller whose orders wait too long are refused, and those of others are not', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const db = { query: () => Promise.resolve({ rows: [{ id: 'a' }] }) } as unknown as Db;
      const admission = createAdmission(db, { concurrency: 2, maxBacklogAgeMs: 60_000 });
      await jest.advanceTimersByTimeAsync(2000);
      const insert = (sellerId: string) => admission.insert(sellerId, () => Promise.resolve('inserted'));
      await expect(insert('a')).rejects.toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '60' } });
      expect(await insert('b')).toBe('inserted');
    } finally {
      jest.useRealTimers();
    }
  });

  test('free their slot when they fail', async () => {
    const { admission } = createInserts();
    const fail = () => admission.insert('a', () => Promise.reject(new Error('no')));
    await Promise.all([1, 2, 3].map(() => expect(fail()).rejects.toThrow('no')));
    expect(await admission.insert('a', () => Promise.resolve('inserted'))).toBe('inserted');
  });
});

test('while inserts wait for their turn, workflows start one at a time, each as part of its own request', async () => {
  let hasQueue = true;
  const started: (() => void)[] = [];
  const requests: (string | undefined)[] = [];
  const request = new AsyncLocalStorage<string>();
  const workflows = {
    start() {
      requests.push(request.getStore());
      return new Promise((_, reject) => started.push(() => reject(new Error('ended'))));
    },
  };
  const dispatcher = createWorkflowDispatcher(
    {
      db: NO_DB,
      workflows: workflows as unknown as OrderWorkflows,
      admission: { hasQueue: () => hasQueue },
      log: pino({ enabled: false }),
    },
    { inFlight: 20, checkAfterMs: 1000, sweepStartAfterMs: 60_000, startDelayMs: 0 },
  );
  for (let index = 0; index < 10; index++)
    request.run(`request ${index}`, () =>
      dispatcher.start({ order: { id: `order ${index}`, sellerId: 'a', version: 1 } } as unknown as OrderHistory),
    );
  expect(started).toHaveLength(1);
  started[0]!();
  await setImmediate();
  expect(started).toHaveLength(2);
  hasQueue = false;
  started[1]!();
  await setImmediate();
  expect(started.length).toBeGreaterThan(4);
  expect(requests).toEqual(requests.map((_, index) => `request ${index}`));
  for (const end of started) end();
});

describe('the number of concurrent starts', () => {
  const observe = (limit: { observe: (ms: number) => void }, ms: number, times: number): void => {
    for (let count = 0; count < times; count++) limit.observe(ms);
  };

  test('grows to its maximum while starts are fast', () => {
    const limit = createAdaptiveLimit(20);
    expect(limit.current).toBe(4);
    observe(limit, 10, 300);
    expect(limit.current).toBe(20);
  });

  test('falls to one while starts wait for each other, and grows again afterwards', () => {
    const limit = createAdaptiveLimit(20);
    observe(limit, 10, 300);
    observe(limit, 400, 40);
    expect(limit.current).toBe(1);
    observe(limit, 10, 300);
    expect(limit.current).toBe(20);
  });

  test('does not fall because a distant Temporal server takes its time', () => {
    const limit = createAdaptiveLimit(20);
    observe(limit, 120, 300);
    expect(limit.current).toBe(20);
  });
});

describe('the delay of a start', () => {
  test('is the same for orders that come alone', () => {
    expect(createStartDelay(10_000)()).toBe(10_000);
    expect(createStartDelay(0)()).toBe(0);
  });

  test('spreads the first tasks of a burst evenly', () => {
    const next = createStartDelay(10_000);
    const delays = Array.from({ length: 5000 }, next);
    expect(delays[0]).toBe(10_000);
    expect(delays[4999]! - delays[0]!).toBeGreaterThan(1_245_000);
    expect(delays[4999]! - delays[0]!).toBeLessThanOrEqual(1_250_000);
  });

  test('is at most two hours', () => {
    const next = createStartDelay(10_000);
    const delays = Array.from({ length: 60_000 }, next);
    expect(Math.max(...delays)).toBeLessThanOrEqual(7_200_000);
    const late = delays.slice(30_000);
    expect(late.filter((ms) => ms > 6_000_000).length).toBeLessThan(9000);
  });
});

describe('a work loop of the sweep', () => {
  test('continues with other orders while one is slow, and ends only after that one', async () => {
    const stop = new AbortController();
    const due = ['slow', ...Array.from({ length: 9 }, (_, index) => `order ${index}`)];
    const done: string[] = [];
    let finishSlow = (): void => undefined;
    const loop = runWorkLoop(
      {
        capacity: () => 2,
        lease: (limit) => Promise.resolve(due.splice(0, limit)),
        async work(one) {
          if (one === 'slow') await new Promise<void>((resolve) => (finishSlow = resolve));
          done.push(one);
        },
        onError: (error) => {
          throw error;
        },
        intervalMs: 10,
      },
      stop.signal,
    );
    while (done.length < 9) await delay(10);
    expect(done).not.toContain('slow');
    stop.abort();
    finishSlow();
    await loop;
    expect(done).toContain('slow');
  });

  test('reports a failed lease and repeats it', async () => {
    const stop = new AbortController();
    const errors: unknown[] = [];
    const loop = runWorkLoop(
      {
        capacity: () => 1,
        lease: () => Promise.reject(new Error('no database')),
        work: () => Promise.resolve(),
        onError(error) {
          if (errors.push(error) === 2) stop.abort();
        },
        intervalMs: 10,
      },
      stop.signal,
    );
    await loop;
    expect(errors).toHaveLength(2);
  });
});

test("sellers' calls to workflows take turns, and if too many wait, the sweep makes those of the seller with most", async () => {
  const checked: string[] = [];
  let finish = (): void => undefined;
  const db = {
    query: (_: string, [ids]: [string[]]) => {
      checked.push(...ids);
      return new Promise((resolve) => (finish = () => resolve({ rows: [] })));
    },
  } as unknown as Db;
  const dispatcher = createWorkflowDispatcher(
    {
      db,
      workflows: {} as OrderWorkflows,
      admission: { hasQueue: () => false },
      log: pino({ enabled: false }),
    },
    { inFlight: 1, checkAfterMs: 1000, sweepStartAfterMs: 60_000, startDelayMs: 0 },
  );
  const check = (id: string): void => dispatcher.check({ id, sellerId: id.charAt(0) } as Order);
  for (const id of ['a0', 'a1', 'a2', 'b1', 'a3']) check(id);
  const finishAll = async (): Promise<void> => {
    for (let count = 0; count !== checked.length;) {
      count = checked.length;
      finish();
      await setImmediate();
    }
  };
  await finishAll();
  expect(checked.splice(0)).toEqual(['a0', 'a1', 'b1', 'a2', 'a3']);
  check('c0');
  check('b2');
  for (let index = 1; index <= 500; index++) check(`c${index}`);
  await finishAll();
  expect(checked).toEqual(['c0', 'b2', 'c500']);
});
