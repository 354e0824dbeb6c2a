import pino from 'pino';
import { createEndpointBreakers } from '../../../src/webhooks/attempt-limits';

const SHOP = { sellerId: 'one', url: 'https://Shop.example/hooks/1' };
const SAME_HOST = { sellerId: 'one', url: 'https://shop.example/other?order=2' };
const ANSWER = { status: 500, error: 'http_status' } as const;
const TIMEOUT = { status: null, error: 'timeout' } as const;

let nowMs: number;
let lines: { msg: string }[];
beforeEach(() => {
  nowMs = 1_000_000;
  lines = [];
});

const create = () =>
  createEndpointBreakers(
    { failures: 3, minWaitMs: 10_000, maxWaitMs: 60_000 },
    pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }),
    () => nowMs,
  );

/** Breakers of which that of SHOP is open. */
function createOpen() {
  const breakers = create();
  for (let count = 0; count < 3; count++) breakers.record(SHOP, TIMEOUT);
  return breakers;
}

test('a breaker opens after several attempts in a row without an answer, for all paths of the host', () => {
  const breakers = create();
  breakers.record(SHOP, TIMEOUT);
  breakers.record(SHOP, TIMEOUT);
  expect(breakers.passOrWaitMs(SAME_HOST)).toBe(0);
  breakers.record(SHOP, TIMEOUT);
  expect(breakers.passOrWaitMs(SAME_HOST)).toBeGreaterThanOrEqual(10_000);
  expect(lines.map(({ msg }) => msg)).toEqual(['webhook endpoint does not answer: its deliveries wait']);
});

test('an answer in between starts the count again, and any HTTP status is an answer', () => {
  const breakers = create();
  for (const result of [TIMEOUT, TIMEOUT, ANSWER, TIMEOUT, TIMEOUT]) breakers.record(SHOP, result);
  expect(breakers.passOrWaitMs(SHOP)).toBe(0);
});

test.each(['invalid_url', 'no_secret'] as const)(
  'an attempt that fails with %s shows nothing about the endpoint',
  (error) => {
    const breakers = create();
    for (let count = 0; count < 5; count++) breakers.record(SHOP, { status: null, error });
    expect(breakers.passOrWaitMs(SHOP)).toBe(0);
  },
);

test("another seller's deliveries to the same host do not wait", () => {
  expect(createOpen().passOrWaitMs({ ...SHOP, sellerId: 'two' })).toBe(0);
});

test('one delivery at a time probes the endpoint, and its answer closes the breaker', () => {
  const breakers = createOpen();
  nowMs += 10_000;
  expect(breakers.passOrWaitMs(SHOP)).toBe(0);
  expect(breakers.passOrWaitMs(SHOP)).toBeGreaterThan(0);
  breakers.record(SHOP, ANSWER);
  expect(breakers.passOrWaitMs(SHOP)).toBe(0);
  expect(lines.at(-1)).toMatchObject({ msg: 'webhook endpoint answers again' });
});

test('a probe without a result is repeated', () => {
  const breakers = createOpen();
  nowMs += 10_000;
  expect(breakers.passOrWaitMs(SHOP)).toBe(0);
  nowMs += 30_000;
  expect(breakers.passOrWaitMs(SHOP)).toBe(0);
});

test('the wait for a probe grows with the outage, up to a limit', () => {
  const breakers = createOpen();
  nowMs += 120_000;
  breakers.record(SHOP, TIMEOUT);
  expect(breakers.passOrWaitMs(SHOP)).toBe(30_250);
  nowMs += 3_600_000;
  breakers.record(SHOP, TIMEOUT);
  expect(breakers.passOrWaitMs(SHOP)).toBe(60_250);
});

test('deliveries that wait get turns one after the other, none later than half an hour', () => {
  const breakers = createOpen();
  const waits = Array.from({ length: 20_000 }, () => breakers.passOrWaitMs(SHOP));
  expect(waits.slice(0, 3)).toEqual([10_250, 10_500, 10_750]);
  expect(Math.max(...waits)).toBe(1_800_000);
});

test('however many endpoints never answer, those that have failed last are remembered', () => {
  const breakers = createOpen();
  const fail = (n: number) => breakers.record({ sellerId: 'one', url: `https://shop-${n}.example` }, TIMEOUT);
  for (let n = 1; n < 10_000; n++) fail(n);
  breakers.record(SHOP, TIMEOUT);
  for (let n = 1; n < 10_000; n++) fail(10_000 + n);
  expect(breakers.countOpen()).toBe(1);
  fail(0);
  expect(breakers.countOpen()).toBe(0);
});

test('an endpoint that nothing waits for any more does not count as open', () => {
  const breakers = createOpen();
  nowMs += 35 * 60_000;
  expect(breakers.countOpen()).toBe(0);
  expect(breakers.passOrWaitMs(SHOP)).toBe(0);
  breakers.record(SHOP, TIMEOUT);
  expect(breakers.countOpen()).toBe(1);
});
