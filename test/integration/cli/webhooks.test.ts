import { randomUUID } from 'node:crypto';
import { liveWebhookSecrets } from '../../../src/db/sellers';
import { expectError, runCli } from '../../support/cli';
import { openOrder } from '../../support/orders';
import type { Receiver } from '../../support/receiver';
import { startReceiver } from '../../support/receiver';
import type { Stack } from '../../support/stack';
import { createSeller, startStack } from '../../support/stack';
import { until } from '../../support/until';

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  stack = await startStack({ env: { WEBHOOK_RETRY_DELAYS: '0' } });
});
afterAll(() => stack.stop());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.stop());

async function answerOf(...args: string[]): Promise<any> {
  const run = await runCli([...args, '--json'], { DATABASE_URL: stack.databaseUrl });
  expect([run.code, run.stderr]).toEqual([0, '']);
  return run.json();
}

const settled = async (id: string) =>
  (await stack.db.query(`select from webhook_event where order_id = $1 and state = 'pending'`, [id])).rowCount === 0;

async function exhaustedOrders(count: number): Promise<string[]> {
  receiver.answerWith(500);
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
    await until(() => settled(id), 'it is exhausted');
    ids.push(id);
  }
  return ids;
}

test('webhooks are listed, and resent one by one or all that a filter finds', async () => {
  const orders = await exhaustedOrders(3);
  const seller = stack.seller.id;
  const listed = await answerOf('webhooks', 'list', '--seller', seller, '--state', 'exhausted');
  expect(listed.map(({ order_id }: any) => order_id)).toEqual([...orders].reverse());
  const page = (...options: string[]) => answerOf('webhooks', 'list', '--seller', seller, '--limit', '2', ...options);
  expect(await page()).toEqual(listed.slice(0, 2));
  expect(await page('--after', listed[1].id)).toEqual(listed.slice(2));
  expect(await page('--after', listed[2].id)).toEqual([]);
  const unknown = ['webhooks', 'list', '--after', '00000000-0000-4000-8000-000000000000'];
  const nowhere = await runCli(unknown, { DATABASE_URL: stack.databaseUrl });
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no webhook 00000000-') });
  receiver.answerWith(200);

  expect(await answerOf('webhooks', 'resend', listed[0].id)).toEqual({ resending: 1 });
  await until(() => receiver.deliveries.length === 4, 'it came');
  expect(receiver.deliveries[3]!.headers['webhook-id']).toBe(listed[0].id);

  const rest = ['webhooks', 'resend', '--seller', seller, '--state', 'exhausted', '--since', '2026-01-01'];
  await until(async () => (await answerOf(...rest, '--dry-run')).would_resend === 2, 'the first is delivered');
  expect(receiver.deliveries).toHaveLength(4);
  expect(await answerOf(...rest)).toEqual({ resending: 2 });
  await until(() => receiver.deliveries.length === 6, 'the others came');
  await until(async () => (await answerOf(...rest)).resending === 0, 'none is left');
});

test('nothing is resent where one of the ids is none', async () => {
  await exhaustedOrders(1);
  const [{ id }] = await answerOf('webhooks', 'list', '--limit', '1');
  const unknown = randomUUID();
  const run = await runCli(['webhooks', 'resend', id, unknown], { DATABASE_URL: stack.databaseUrl });
  expectError(run, 1, new RegExp(`there is no webhook ${unknown}; nothing is resent`));
  const { rows } = await stack.db.query('select from webhook_event where resend_requested_at is not null');
  expect(rows).toEqual([]);
});

test('a rotated secret is shown once, and the older one signs beside it as long as asked', async () => {
  const seller = await createSeller(stack.db);
  const answer = await answerOf('webhook-secret', 'rotate', seller.id, '--overlap-hours', '0.5');
  expect(await liveWebhookSecrets(stack.db, seller.id)).toEqual([answer.webhook_secret, seller.webhookSecret]);
  const minutes = (Date.parse(answer.previous_valid_until) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(29);
  expect(minutes).toBeLessThanOrEqual(30);
  await answerOf('webhook-secret', 'rotate', seller.id, '--overlap-hours', '0');
  expect(await liveWebhookSecrets(stack.db, seller.id)).toHaveLength(1);
});

test('the secret of an unknown seller is not rotated', async () => {
  const id = randomUUID();
  const run = await runCli(['webhook-secret', 'rotate', id], { DATABASE_URL: stack.databaseUrl });
  expectError(run, 1, new RegExp(`there is no seller ${id}`));
});
