import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { limitInFlight } from '../../../src/api/in-flight';
import { createRateLimits } from '../../../src/api/rate-limit';
import { creation } from '../../../src/domain/order';
import { createLogger } from '../../../src/logger';
import { createPortal } from '../../../src/portal/portal';
import { CREATED_AT, FACTS } from '../../support/domain-orders';
import { until } from '../../support/until';

const SESSION = {
  sessionId: '1',
  user: null,
  readOnly: false,
  id: 'seller',
  name: 'Shop',
  sandbox: true,
  rateLimit: null,
};
const RATE_LIMITS = { windowMs: 10_000, address: 10, key: 1000, checkoutKey: 1000, payLink: 1000 };

const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.close().closeAllConnections()));

/**
 * @param session that each cookie has
 * @param read the rows of every other statement
 */
async function startPortal(session: object | undefined, read: () => Promise<object[]>) {
  let calls = 0;
  const lines: unknown[] = [];
  const db = {
    query: async (sql: string | { text: string }) => {
      const isOfSession = typeof sql === 'string' && sql.includes('portal_session');
      return { rows: isOfSession && session ? [session] : await read() };
    },
  };
  const limit = limitInFlight(2);
  const portal = createPortal({
    deps: { db, rules: { checkWebhookUrl: () => undefined }, portalUrl: 'http://127.0.0.1/portal' },
    limits: createRateLimits(RATE_LIMITS),
    limitInFlight: (ctx: never, next: () => Promise<unknown>) => {
      calls++;
      return limit(ctx, next);
    },
    readSecret: () => Promise.resolve('secret'),
    waitingFor: () => Promise.resolve(new Map()),
  } as unknown as Parameters<typeof createPortal>[0]);
  const app = new Koa();
  app.on('error', () => undefined);
  app.use((ctx, next) => {
    ctx.state.log = createLogger('warn', 'test', { write: (line) => void lines.push(JSON.parse(line)) });
    return next();
  });
  const handle = app.use(portal).callback();
  const server = createServer((request, response) => void handle(request, response));
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/portal`;
  const get = async (path: string, cookie: string): Promise<number> => {
    const response = await fetch(url + path, { headers: { Cookie: `portal=${cookie}` } });
    await response.text();
    return response.status;
  };
  return { get, lines, calls: () => calls };
}

/** Statements that find nothing, and end when `answer` is called. */
function slowReads() {
  const reads: (() => void)[] = [];
  const read = () => new Promise<object[]>((resolve) => reads.push(() => resolve([])));
  return { reads, read, answer: () => reads.splice(0).forEach((end) => end()) };
}

test("requests of one seller's people beyond the limit wait until earlier ones are answered", async () => {
  const { reads, read, answer } = slowReads();
  const { get, calls } = await startPortal(SESSION, read);
  const answers = ['/orders/', '/orders/', '/orders.csv'].map((path) => get(path, 'x'.repeat(43)));
  await until(() => calls() === 3 && reads.length > 1, 'all have arrived');
  await new Promise(setImmediate);
  expect(reads).toHaveLength(2);
  const answering = setInterval(answer, 5);
  expect(await Promise.all(answers)).toEqual([200, 200, 200]);
  clearInterval(answering);
});

test('a flood of unknown cookies makes four look-ups at a time, and none beyond the limit of its address', async () => {
  const { reads, read, answer } = slowReads();
  const { get } = await startPortal(undefined, read);
  let most = 0;
  let all = 0;
  const answers = Array.from({ length: 30 }, (_, index) => get('/orders/', String(index).padEnd(43, 'x')));
  await until(() => reads.length === 4, 'look-ups wait');
  const answering = setInterval(() => {
    most = Math.max(most, reads.length);
    all += reads.length;
    answer();
  }, 5);
  const statuses = await Promise.all(answers);
  clearInterval(answering);
  expect([...new Set(statuses)].sort()).toEqual([401, 429]);
  expect([most, all]).toEqual([4, RATE_LIMITS.address]);
});

test('a CSV that breaks off is in the log, with the cause', async () => {
  const order = { ...FACTS, expiresAt: null, changes: [creation(CREATED_AT)], settlement: null, listedAt: CREATED_AT };
  const pages = [Array.from({ length: 500 }, () => order)];
  const { get, lines } = await startPortal(SESSION, () => {
    const page = pages.shift();
    return page ? Promise.resolve(page) : Promise.reject(new Error('Connection terminated'));
  });
  await expect(get('/orders.csv', 'x'.repeat(43))).rejects.toThrow('terminated');
  expect(lines).toMatchObject([{ level: 'warn', err: { message: 'Connection terminated' } }]);
});
