import { randomUUID } from 'node:crypto';
import { findCredentials } from '../../../src/db/secrets';
import { NO_KEYS } from '../../support/keys';
import { BASE } from '../../support/api';
import { expectError, runCli } from '../../support/cli';
import { noWebhookPending, openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { createSeller, useStack } from '../../support/stack';
import { until } from '../../support/until';

const stack = useStack({ env: { WEBHOOK_RETRY_DELAYS: '0' } });
const receiver = useReceiver('test');

async function json(...args: string[]): Promise<any> {
  const run = await runCli([...args, '--json'], stack.env);
  expect([run.code, run.stderr]).toEqual([0, '']);
  return run.json();
}

async function exhaustedWebhooks(): Promise<number | null> {
  return (await stack.db.query(`select from webhook_event where state = 'exhausted'`)).rowCount;
}

/** Creates orders whose only webhook is exhausted. */
async function exhaustedOrders(count: number): Promise<string[]> {
  receiver.answerWith(500);
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
    await until(() => noWebhookPending(stack, [id]), 'the webhook is exhausted');
    ids.push(id);
  }
  return ids;
}

test('webhooks list prints pages, and webhooks resend sends the given webhook or all that match a filter', async () => {
  const orders = await exhaustedOrders(3);
  const seller = stack.seller.id;
  const listed = await json('webhooks', 'list', '--seller', seller, '--state', 'exhausted');
  expect(listed.map(({ order_id }: any) => order_id)).toEqual([...orders].reverse());
  const page = (...options: string[]) => json('webhooks', 'list', '--seller', seller, '--limit', '2', ...options);
  expect(await page()).toEqual(listed.slice(0, 2));
  expect(await page('--after', listed[1].id)).toEqual(listed.slice(2));
  expect(await page('--after', listed[2].id)).toEqual([]);
  expect(await json('webhooks', 'list', '--order', listed[1].reference)).toEqual([listed[1]]);
  expect(await json('webhooks', 'list', '--order', listed[2].order_id)).toEqual([listed[2]]);
  expectError(await runCli(['webhooks', 'list', '--order', 'x'], stack.env), 1, /order x does not exist/);
  const unknown = ['webhooks', 'list', '--after', '00000000-0000-4000-8000-000000000000'];
  const run = await runCli(unknown, { DATABASE_URL: stack.databaseUrl });
  expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(/webhook 00000000-\S+ does not exist/) });
  receiver.answerWith(200);

  expect(await json('webhooks', 'resend', listed[0].id)).toEqual({ resending: 1 });
  await until(() => receiver.deliveries.length === 4, 'the webhook arrives');
  expect(receiver.deliveries[3]!.headers['webhook-id']).toBe(listed[0].id);

  const all = ['webhooks', 'resend', '--state', 'exhausted', '--since', '2026-01-01'];
  const rest = [...all, '--seller', seller, '--yes'];
  await until(async () => (await exhaustedWebhooks()) === 2, 'the first webhook is delivered');
  const declined = await runCli([...all, '--all-sellers'], stack.env, 'no\n');
  expect(declined.stderr).toContain(
    'Resend 2 exhausted webhooks of all sellers, of orders of £2,469.00 in all? [y/N] ',
  );
  expect(declined).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/nothing was changed/) });
  expect(receiver.deliveries).toHaveLength(4);
  const workflow = `resend-webhooks-${seller}`;
  expect(await json(...rest)).toEqual({ resending: 2, workflow });
  await until(() => receiver.deliveries.length === 6, 'the other webhooks arrive');
  await until(async () => (await exhaustedWebhooks()) === 0, 'all webhooks are delivered');
  const ended = () => stack.client.workflow.getHandle(workflow).result();
  await ended();
  expect(await json(...rest)).toMatchObject({ resending: 0 });
  await ended();
});

test('webhooks resend with a filter refuses to run beside the resend of many that the seller has requested', async () => {
  await stack.stopWorker();
  try {
    const { id } = stack.seller;
    const body = { data: { state: 'exhausted' } };
    const { status } = await stack.api.call('POST', `${BASE}/seller/${id}/webhook_event/resend/`, { body });
    expect(status).toBe(202);
    const run = await runCli(['webhooks', 'resend', '--state', 'exhausted', '--seller', id, '--yes'], stack.env);
    expectError(run, 1, new RegExp(`the workflow resend-webhooks-${id} is already running: wait for its end, or`));
  } finally {
    await stack.startWorker();
  }
});

test('webhook-endpoint set replaces the URL of an order, whose webhooks webhooks resend --order then sends there', async () => {
  const [id] = await exhaustedOrders(1);
  receiver.answerWith(200);
  const url = `${receiver.url}?replaced`;
  const set = (...options: string[]) => ['webhook-endpoint', 'set', stack.seller.id, ...options];
  for (const [options, error] of [
    [[], /pass --url <url> or --no-url/],
    [['--url', 'nonsense'], /--url must be an absolute/],
    [['--no-url', '--replaces', receiver.url], /must have a url if it replaces others/],
  ] as const)
    expectError(await runCli(set(...options), stack.env), 2, error);
  expect(await json(...set('--url', url, '--replaces', receiver.url))).toMatchObject({ url, replaces: [receiver.url] });
  const shown = await json('webhook-endpoint', 'show', stack.seller.id);
  expect(shown.endpoints[0]).toMatchObject({ origin: new URL(url).origin, state: 'failing' });
  const plain = await runCli(['webhooks', 'list', '--order', id!], stack.env);
  expect(plain.stdout).toMatch(/Your server answered 500\. +-? +http:\/\/127\.0\.0\.1:\d+\/hooks\?replaced failing/);
  const resend = ['webhooks', 'resend', '--order', id!, '--seller', stack.seller.id];
  expect((await runCli(resend, stack.env, 'no\n')).stderr).toContain('Resend 1 webhooks of');
  expect(await json(...resend, '--yes')).toMatchObject({ resending: 1 });
  await until(async () => (await exhaustedWebhooks()) === 0, 'the webhook is delivered');
  expect(await json(...set('--no-url'))).toMatchObject({ url: null, replaces: [] });
});

test('webhooks resend resends nothing if one of the ids is unknown', async () => {
  await exhaustedOrders(1);
  const [{ id }] = await json('webhooks', 'list', '--limit', '1');
  const unknown = randomUUID();
  const run = await runCli(['webhooks', 'resend', id, unknown], { DATABASE_URL: stack.databaseUrl });
  expectError(run, 1, new RegExp(`webhook ${unknown} does not exist; no webhook is resent`));
  const { rows } = await stack.db.query('select attempts from webhook_event where id = $1', [id]);
  expect(rows).toEqual([{ attempts: 1 }]);
});

test('webhooks resend reports the first order that waits for reconcile, and where to continue', async () => {
  const [first, second] = await exhaustedOrders(2);
  const [behind, ready] = await json('webhooks', 'list', '--limit', '2');
  await stack.db.query('update orders set behind_version = 9 where id = $1', [second]);
  receiver.answerWith(200);
  const run = await runCli(['webhooks', 'resend', ready.id, behind.id], stack.env);
  expectError(
    run,
    1,
    new RegExp(`order ${second} waits for reconcile: .* repeat this command from webhook ${behind.id}`),
  );
  await until(() => receiver.deliveries.length === 3, 'the webhook before it is resent');
  expect(receiver.deliveries[2]!.body.data.order.id).toBe(first);
});

test('webhook-secret rotate shows a new secret, and the older one stays active until the overlap ends', async () => {
  const seller = await createSeller(stack.db);
  const rotated = await json('webhook-secret', 'rotate', seller.id, '--overlap-hours', '0.5');
  expect((await findCredentials(stack.db, NO_KEYS, seller.id)).secrets).toEqual([
    rotated.webhook_secret,
    seller.webhookSecret,
  ]);
  const minutes = (Date.parse(rotated.previous_valid_until) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(20);
  expect(minutes).toBeLessThanOrEqual(30);
  await json('webhook-secret', 'rotate', seller.id, '--overlap-hours', '0');
  expect((await findCredentials(stack.db, NO_KEYS, seller.id)).secrets).toHaveLength(1);
});
