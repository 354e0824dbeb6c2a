import { setImmediate } from 'node:timers/promises';
import { createCounter, type RequestCounter, type Usage } from '../../../src/api/request-counter';
import { createPool, type Db } from '../../../src/db/pool';
import { useDatabase } from '../../support/database';
import { type Proxy, startProxy } from '../../support/proxy';
import { log } from '../../support/stack';

const WINDOW_MS = 600_000;
/** Long compared with delays on a loaded machine. */
const SYNC_TIMEOUT_MS = 3000;

let pools: Db[] = [];
afterEach(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  pools = [];
});
const database = useDatabase('test');

/** Creates a counter with a pool of its own, as a separate process would. */
function newCounter(url = database.url, syncTimeoutMs = 60_000): { counter: RequestCounter; pool: Db } {
  const pool = createPool(url, 5, () => undefined);
  pools.push(pool);
  return { counter: createCounter(pool, { name: 'test', windowMs: WINDOW_MS, syncTimeoutMs }, log), pool };
}
const within = ({ used, limit }: Usage): boolean => used <= limit;

/** Spreads concurrent requests over the counters and returns how many are within the limit. */
async function burst(counters: RequestCounter[], requests: number, limit: number, client = 'shop'): Promise<number> {
  const usages = Array.from({ length: requests }, (_, index) =>
    counters[index % counters.length]!.increment(client, limit),
  );
  return (await Promise.all(usages)).filter(within).length;
}

describe('a burst of requests', () => {
  test.each([
    { processes: 1, limit: 10, atMost: 10 },
    { processes: 1, limit: 100, atMost: 100 },
    { processes: 1, limit: 1000, atMost: 1000 },
    { processes: 2, limit: 10, atMost: 10 },
    { processes: 2, limit: 50, atMost: 50 },
    { processes: 4, limit: 50, atMost: 50 },
    { processes: 2, limit: 100, atMost: 102 },
    { processes: 4, limit: 100, atMost: 104 },
    { processes: 2, limit: 1000, atMost: 1038 },
  ])(
    'of three times the limit of $limit, over $processes processes, gets at most $atMost through',
    async ({ processes, limit, atMost }) => {
      const counters = Array.from({ length: processes }, () => newCounter().counter);
      const through = await burst(counters, 3 * limit, limit);
      expect(through).toBeGreaterThanOrEqual(limit);
      expect(through + (await burst(counters, limit, limit))).toBeLessThanOrEqual(atMost);
    },
  );

  test('that comes in waves gets no more requests through', async () => {
    const counters = [newCounter().counter, newCounter().counter];
    let through = 0;
    for (let wave = 0; wave < 20; wave++) through += await burst(counters, 15, 100);
    expect(through).toBeGreaterThanOrEqual(100);
    expect(through).toBeLessThanOrEqual(102);
  });

  test('of one client does not count for another client', async () => {
    const { counter } = newCounter();
    expect(await burst([counter], 30, 10)).toBe(10);
    expect(await burst([counter], 30, 10, 'other')).toBe(10);
  });

  test('needs few writes to Postgres', async () => {
    const { counter, pool } = newCounter();
    const write = jest.spyOn(pool, 'query');
    expect(await burst([counter], 300, 100)).toBe(100);
    expect(write.mock.calls.length).toBeLessThan(10);
  });
});

test('requests well below the limit need one write to Postgres per 1/50 of the limit', async () => {
  const { counter, pool } = newCounter();
  const write = jest.spyOn(pool, 'query');
  for (let count = 0; count < 200; count++) expect(within(await counter.increment('shop', 1000))).toBe(true);
  expect(write).toHaveBeenCalledTimes(10);
});

test('a request over a limit that is known to be reached is refused without Postgres', async () => {
  const { counter, pool } = newCounter();
  await burst([counter], 10, 10);
  const write = jest.spyOn(pool, 'query');
  expect(await counter.increment('shop', 10)).toMatchObject({ limit: 10, used: 11 });
  expect(write).not.toHaveBeenCalled();
});

describe('while Postgres is', () => {
  let proxy: Proxy;
  let counter: RequestCounter;
  let pool: Db;
  beforeEach(async () => {
    const url = new URL(database.url);
    proxy = await startProxy(url.host);
    url.host = proxy.address;
    ({ counter, pool } = newCounter(url.href, SYNC_TIMEOUT_MS));
    // Only the counter itself gives up a query.
    pool.options.query_timeout = 0;
    await pool.query('select');
    expect(within(await counter.increment('shop', 10))).toBe(true);
  });
  afterEach(() => proxy.stop());

  test('unresponsive, a burst waits for one timeout, and then the process uses its own count', async () => {
    proxy.blackHole();
    const write = jest.spyOn(pool, 'query');
    const early = burst([counter], 5, 10);
    await setImmediate();
    const late = burst([counter], 20, 10);
    expect(await Promise.all([early, late])).toEqual([5, 4]);
    // Requests that arrive during the wait do not start another one.
    expect(write).toHaveBeenCalledTimes(1);
  });

  test('unavailable, the process continues with its own count', async () => {
    proxy.stop();
    expect(await burst([counter], 30, 10)).toBe(9);
    expect(await burst([counter], 30, 10)).toBe(0);
  });
});

test('requests let through during an outage of Postgres are counted afterwards', async () => {
  const { counter, pool } = newCounter();
  const write = jest.spyOn(pool, 'query').mockRejectedValue(new Error('unavailable') as never);
  const [first] = await Promise.all([
    counter.increment('shop', 10),
    counter.increment('shop', 10),
    counter.increment('shop', 10),
  ]);
  expect(within(first)).toBe(true);
  write.mockRestore();
  await counter.increment('shop', 10);
  const { used } = await newCounter().counter.increment('shop', 10);
  // The failed update may have been counted, so the counter does not repeat it.
  expect(used).toBeGreaterThan(3);
});
