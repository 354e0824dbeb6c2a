import { Webhook } from 'standardwebhooks';
import { useReceiver } from '../support/receiver';
import { useSharedStack } from '../support/shared-stack';
import { until } from '../support/until';

const stack = useSharedStack();
const receiver = useReceiver();

test('an order goes from CREATED to SUCCESSFUL, and the seller receives every change signed and in order', async () => {
  const { api, seller } = stack;
  const created = await api.create({ webhook_url: receiver.url, amount: 1234.5, reference: 'first' });
  expect(created.status).toBe(201);
  const { id } = created.body.data;
  for (const event of ['signup_started', 'approved', 'completed']) {
    const response = await api.progress(id, event);
    expect(response.text).toContain(id);
    expect(response.status).toBe(200);
  }
  const read = await api.get(id);
  expect(read.body.data.status).toBe('SUCCESSFUL');
  await until(() => receiver.deliveries.length === 3, 'three webhooks have arrived');
  const { data } = read.body;
  expect(receiver.deliveries.map((delivery) => delivery.body.data.order.status)).toEqual([
    'PENDING',
    'APPROVED',
    'SUCCESSFUL',
  ]);
  expect(receiver.deliveries.map((delivery) => delivery.body.data.sequence)).toEqual([1, 2, 3]);
  expect(receiver.deliveries[2]!.body.data.order).toEqual(data);
  for (const { text, headers } of receiver.deliveries) {
    new Webhook(seller.webhookSecret).verify(text, headers as Record<string, string>);
  }
});
