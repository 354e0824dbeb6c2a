import { BASE } from '../../support/api';
import { runCli } from '../../support/cli';
import { noWebhookPending, openOrder } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

/** A sandbox account on a service with the default retention, whose workers look for old data all the time. */
const stack = useSharedStack();
const receiver = useReceiver();

const call = (path: string, method = 'GET') => stack.api.call(method, `${BASE}${path}`);

/** Creates a closed order whose webhook was delivered. */
async function closedOrder(): Promise<{ id: string; payLinkId: string; webhookId: string }> {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => noWebhookPending(stack, [id]), 'no webhook is pending');
  await stack.client.workflow.getHandle(`order-${id}`).result();
  const { body } = await call(`/order/${id}/timeline/`);
  const payLinkId = (await stack.api.get(id)).body.data.pay_link_id as string;
  return { id, payLinkId, webhookId: body.data[1].webhook.id as string };
}

test('a webhook without content shows it alike in the list and the timeline, and gets a 410 when it is read or resent', async () => {
  const { id, webhookId } = await closedOrder();
  await stack.db.query(`update webhook_event set created_at = now() - interval '91 days' where id = $1`, [webhookId]);
  const listed = () => call(`/seller/${stack.seller.id}/webhook_event/`);
  const webhook = await until(async () => {
    const found = (await listed()).body.data.find((one: { id: string }) => one.id === webhookId);
    return found.content_deleted_at === null ? undefined : found;
  }, 'its content is deleted');
  expect(webhook).toMatchObject({ id: webhookId, state: 'delivered', attempts: 1, order_id: id });
  const { body } = await call(`/order/${id}/timeline/`);
  expect(body.data.map(({ type }: { type: string }) => type)).toEqual(['change', 'change']);
  expect(body.data[1].webhook).toMatchObject({ id: webhookId, content_deleted_at: webhook.content_deleted_at });
  const path = `/webhook_event/${webhookId}/`;
  for (const answer of [await call(path), await call(`${path}resend/`, 'POST')])
    expect(expectProblem(answer, 410, 'webhook_content_deleted').detail).toContain(webhook.content_deleted_at);
  const resent = await runCli(['webhooks', 'resend', webhookId], stack.env);
  expect(resent.stderr).toBe(`error: webhook ${webhookId}: its content was deleted; no webhook is resent\n`);
  // A resend of many leaves it out.
  const many = ['webhooks', 'resend', '--state', 'delivered', '--seller', stack.seller.id];
  expect((await runCli(many, stack.env, 'n\n')).stderr).toMatch(/^Resend 0 delivered webhooks/);
  expect((await stack.api.get(id)).body.data.status).toBe('UNSUCCESSFUL');
});

test('an order of a sandbox account is gone 30 days after it closed: a 404 for everything that belonged to it', async () => {
  const { id, payLinkId, webhookId } = await closedOrder();
  await stack.db.query(`update orders set saved_at = now() - interval '31 days' where id = $1`, [id]);
  await until(async () => (await stack.api.get(id)).status === 404, 'the order is deleted');
  for (const [method, path] of [
    ['GET', `/order/${id}/`],
    ['DELETE', `/order/${id}/`],
    ['GET', `/order/${id}/timeline/`],
    ['GET', `/webhook_event/${webhookId}/`],
    ['POST', `/webhook_event/${webhookId}/resend/`],
  ] as const)
    expectProblem(await call(path, method), 404, 'not_found');
  for (const list of ['order', 'webhook_event']) {
    const { body } = await call(`/seller/${stack.seller.id}/${list}/`);
    expect(JSON.stringify(body)).not.toContain(id);
  }
  expect((await fetch(`${stack.api.url}/pay/${payLinkId}/`)).status).toBe(404);
});
