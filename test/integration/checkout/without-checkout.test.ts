import { countOrdersByStatus, readBacklog } from '../../../src/db/backlog';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

/** HOSTED_CHECKOUT is not set: the operator has another checkout. */
const stack = useStack({ worker: false });
const receiver = useReceiver();

test('a service without the hosted checkout does all its work although none of the tables of the checkout exists', async () => {
  // The core asks one view of the checkout: which orders have a payment that is not settled.
  await stack.db.query(
    `drop view checkout_order, checkout_unsettled; drop table application, branding, payment, sandbox_payment, sandbox_mail;
     create view checkout_unsettled as select null::uuid as order_id where false`,
  );
  await stack.startWorker();
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved', 'completed']);
  await until(() => receiver.deliveries.length === 3, 'the webhooks arrive');
  expect((await stack.api.get(id)).body.data.status).toBe('SUCCESSFUL');
  const { pay_link_id: link } = (await stack.api.get(id)).body.data;
  const page = await fetch(`${stack.api.url}/pay/${link}/`);
  expect([page.status, page.headers.get('Content-Type')]).toEqual([404, 'application/problem+json']);
  expect(await readBacklog(stack.db)).toMatchObject({ ordersWaiting: 0 });
  expect((await countOrdersByStatus(stack.db)).SUCCESSFUL).toBe(1);
});
