import { Webhook } from 'standardwebhooks';
import type { Receiver } from '../support/receiver';
import { startReceiver } from '../support/receiver';
import type { Stack } from '../support/stack';
import { startStack } from '../support/stack';
import { until } from '../support/until';

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  stack = await startStack();
});
afterAll(async () => {
  await stack.stop();
  await receiver.stop();
});

test('an order goes from CREATED to SUCCESSFUL, and each change reaches the seller, signed and in order', async () => {
  const { api, seller } = stack;
  const created = await api.create({ webhook_url: receiver.url, amount: 1234.5, reference: 'first' });
  expect(created.status).toBe(201);
  const { id } = created.body.data;
  for (const event of ['signup_started', 'approved', 'completed']) {
    const answer = await api.progress(id, event);
    expect(answer.text).toContain(id);
    expect(answer.status).toBe(200);
  }
  const read = await api.get(id);
  expect(read.body.data.status).toBe('SUCCESSFUL');
  await until(() => receiver.deliveries.length === 3, 'three webhooks came');
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
