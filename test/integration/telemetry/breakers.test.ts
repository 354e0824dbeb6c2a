import { findOrder } from '../../../src/db/orders';
import { registry } from '../../../src/telemetry/metrics';
import { useApiWithoutTemporal } from '../../support/api-without-temporal';
import { saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';
import { parseMetrics } from '../../support/prometheus';

const service = useApiWithoutTemporal({});

const isOpen = async (breaker: string) =>
  parseMetrics(await registry.metrics()).value('order_service_open_breakers', { breaker });

test('the breaker of reads from workflows is shown as open while Temporal fails', async () => {
  const { id } = (await service.api.create()).body.data;
  const { db } = service.database;
  await saveChanges(db, applyEvents((await findOrder(db, id))!, 'signup_started'));
  expect(await isOpen('workflow_reader')).toBe(0);
  for (let reads = 0; reads < 5; reads++)
    expect((await service.api.get(id)).headers.get('Order-Source')).toBe('snapshot');
  expect(await isOpen('workflow_reader')).toBe(1);
});
