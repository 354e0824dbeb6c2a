import { BASE } from '../../support/api';
import { constants } from '../../support/constants';
import { storedText } from '../../support/history';
import { startTestServer } from '../../support/listening-server';
import { useReceiver } from '../../support/receiver';
import { openOrder, runsOf } from '../../support/orders';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

const stack = useStack({
  env: {
    WEBHOOK_RETRY_DELAYS: '0,0.1,0.1',
    ...constants({ webhookBreaker: { failures: 2, minWaitMs: 3_600_000, maxWaitMs: 3_600_000 } }),
  },
});
const receiver = useReceiver();

test('the history of an order has its state, but no pay link, URL, metadata, key, secret or static header', async () => {
  await stack.api.call('PUT', `${BASE}/seller/${stack.seller.id}/webhook_headers/`, {
    body: {
      data: {
        origin: new URL(receiver.url).origin,
        headers: [{ name: 'Authorization', value: 'Bearer private-gateway' }],
      },
    },
  });
  receiver.answerWith(() => (receiver.deliveries.length < 2 ? 500 : 200));
  const id = await openOrder(
    stack,
    {
      webhook_url: receiver.url,
      redirect_url: 'https://shop.example/private-return',
      cancel_url: 'https://shop.example/private-cart',
      source: 'private-source',
      meta_data: { basket: 'private-basket' },
    },
    ['signup_started', 'approved'],
  );
  await until(() => receiver.deliveries.length >= 3, 'both webhooks are delivered, the first one after a retry');
  expect(receiver.deliveries[2]!.headers.authorization).toBe('Bearer private-gateway');
  // The run that the cancel starts reads the row.
  await stack.client.workflow.getHandle(`order-${id}`).terminate('a test');
  await stack.api.cancel(id);
  await stack.client.workflow.getHandle(`order-${id}`).result();
  const { pay_link_id: payLinkId, reference, seller_name: sellerName } = (await stack.api.get(id)).body.data;

  const runs = await until(async () => {
    const listed = await runsOf(stack, id);
    return listed.length >= 2 ? listed : undefined;
  }, 'Temporal lists all runs');
  const texts = await Promise.all(
    runs.map((runId) => storedText(stack.client.workflow.getHandle(`order-${id}`, runId))),
  );
  const text = texts.join('\n');
  for (const expected of [id, reference, sellerName, 'signup_started', 'UNSUCCESSFUL'])
    expect(text).toContain(expected);
  const secrets = [
    payLinkId,
    'http',
    'private-',
    stack.seller.key,
    stack.seller.webhookSecret.slice('whsec_'.length),
    stack.api.checkoutKey,
  ];
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
});

test('the history of an order whose endpoint does not answer has no URL', async () => {
  const silent = await startTestServer((request) => request.socket.destroy());
  try {
    const id = await openOrder(stack, { webhook_url: `${silent.url}/private-hooks` }, ['signup_started']);
    const handle = stack.client.workflow.getHandle(`order-${id}`);
    const waits = /the endpoint has not answered several attempts in a row/;
    await until(
      async () => waits.test((await handle.describe()).raw.pendingActivities?.[0]?.lastFailure?.message ?? ''),
      'the webhook waits',
    );
    const text = await storedText(handle);
    expect(text).toMatch(waits);
    const { host } = new URL(silent.url);
    expect([host, 'http', 'private-'].filter((part) => text.includes(part))).toEqual([]);
  } finally {
    await silent.close();
  }
});
