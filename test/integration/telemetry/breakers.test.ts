import { findOrder } from '../../../src/db/find-orders';
import { registry } from '../../../src/telemetry/metrics';
import { useApiWithoutTemporal } from '../../support/api-without-temporal';
import { saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';
import { parseMetrics } from '../../support/prometheus';
import { until } from '../../support/until';

// Every request is counted in Postgres.
const service = useApiWithoutTemporal({ RATE_LIMIT_KEY: '50' });

const later = (ms: number) => jest.spyOn(Date, 'now').mockReturnValue(Date.now() + ms);
afterEach(() => jest.restoreAllMocks());

const isOpen = async (breaker: string) =>
  parseMetrics(await registry.metrics()).value('order_service_open_breakers', { breaker });

test('the breaker of reads from workflows is shown as open while Temporal fails, and as closed without reads', async () => {
  const { id } = (await service.api.create()).body.data;
  const { db } = service.database;
  await saveChanges(db, applyEvents((await findOrder(db, id))!, 'signup_started'));
  expect(await isOpen('workflow_reader')).toBe(0);
  for (let reads = 0; reads < 5; reads++)
    expect((await service.api.get(id)).headers.get('Order-Source')).toBe('snapshot');
  expect(await isOpen('workflow_reader')).toBe(1);
  later(5 * 60_000);
  expect(await isOpen('workflow_reader')).toBe(0);
});

test('the shared count of a rate limit is shown as open while Postgres does not count, and closed after', async () => {
  expect(await isOpen('rate_limit_key')).toBe(0);
  await service.database.db.query('alter table rate_limit rename to hidden');
  await service.api.call('GET', '/nowhere');
  await until(async () => (await isOpen('rate_limit_key')) === 1, 'the breaker is open');
  later(5 * 60_000);
  expect(await isOpen('rate_limit_key')).toBe(0);
  jest.restoreAllMocks();
  await service.database.db.query('alter table hidden rename to rate_limit');
  await service.api.call('GET', '/nowhere');
  await until(async () => (await isOpen('rate_limit_key')) === 0, 'the breaker is closed');
});
