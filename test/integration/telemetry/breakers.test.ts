import { registry } from '../../../src/telemetry/metrics';
import { apiOf } from '../../support/api';
import { type ApiServer, startApiWithoutTemporal } from '../../support/api-without-temporal';
import { useDatabase } from '../../support/database';
import { parseMetrics } from '../../support/prometheus';
import { type TestSeller, createSeller } from '../../support/stack';
import { until } from '../../support/until';

let server: ApiServer;
afterAll(() => server.stop());
const database = useDatabase();
let seller: TestSeller;
let api: ReturnType<typeof apiOf>;
beforeAll(async () => {
  // Every request is counted in Postgres.
  server = await startApiWithoutTemporal({ DATABASE_URL: database.url, RATE_LIMIT_KEY: '50' });
  seller = await createSeller(database.db);
  api = apiOf(server.url, seller, 'ck_unknown');
});

const later = (ms: number) => jest.spyOn(Date, 'now').mockReturnValue(Date.now() + ms);
afterEach(() => jest.restoreAllMocks());

const isOpen = async (breaker: string) =>
  parseMetrics(await registry.metrics()).value('order_service_open_breakers', { breaker });

test('the breaker of reads from workflows is shown as open while Temporal fails, and as closed without reads', async () => {
  const { id } = (await api.create()).body.data;
  await database.db.query('update order_work set started = true where order_id = $1', [id]);
  expect(await isOpen('temporal_reader')).toBe(0);
  for (let reads = 0; reads < 5; reads++) expect((await api.get(id)).headers.get('Order-Source')).toBe('snapshot');
  expect(await isOpen('temporal_reader')).toBe(1);
  later(5 * 60_000);
  expect(await isOpen('temporal_reader')).toBe(0);
});

test('the shared count of a rate limit is shown as open while Postgres does not count, and closed after', async () => {
  expect(await isOpen('rate_limit_key')).toBe(0);
  await database.db.query('alter table rate_limit rename to hidden');
  await api.call('GET', '/nowhere');
  await until(async () => (await isOpen('rate_limit_key')) === 1, 'the breaker is open');
  later(5 * 60_000);
  expect(await isOpen('rate_limit_key')).toBe(0);
  jest.restoreAllMocks();
  await database.db.query('alter table hidden rename to rate_limit');
  await api.call('GET', '/nowhere');
  await until(async () => (await isOpen('rate_limit_key')) === 0, 'the breaker is closed');
});
