import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package-root';
import { liveWebhookSecrets } from '../../src/db/sellers';
import { openOrder } from '../support/orders';
import type { Receiver } from '../support/receiver';
import { startReceiver } from '../support/receiver';
import type { Stack } from '../support/stack';
import { createSeller, startStack } from '../support/stack';
import { until } from '../support/until';

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

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function cli(...args: string[]): Promise<Outcome> {
  const { PATH } = process.env;
  const file = path.join(PACKAGE_ROOT, 'dist/src/cli.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { env: { PATH, ...stack.env } }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

async function answerOf(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await cli(...args);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
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
  for (const wrong of [randomUUID(), 'nonsense']) {
    const { code, stderr } = await cli('webhooks', 'resend', id, wrong);
    expect(code).toBe(1);
    expect(stderr).toContain(`error: there is no webhook ${wrong}; nothing is resent\n`);
  }
  const { rows } = await stack.db.query('select from webhook_event where resend_at is not null');
  expect(rows).toEqual([]);
});

test.each([
  [['webhooks', 'resend'], 'name webhooks by their ids, or by --state'],
  [['webhooks', 'resend', '--seller', randomUUID()], 'name webhooks by their ids, or by --state'],
  [['webhooks', 'resend', randomUUID(), '--state', 'exhausted'], 'not both'],
  [['webhooks', 'list', '--state', 'lost'], 'Allowed choices are pending, delivered, exhausted, disabled'],
  [['webhooks', 'list', '--seller', 'x'], 'It must be a UUID'],
  [['webhooks', 'list', '--since', 'yesterday'], 'ISO 8601'],
  [['webhooks', 'list', '--limit', '0'], 'whole number'],
  [['webhook-secret', 'rotate'], "required option '--seller <id>' not specified"],
  [['webhook-secret', 'rotate', '--seller', randomUUID(), '--overlap-hours', '-1'], '0 to 168 hours'],
  [['webhook-secret', 'rotate', '--seller', '6a0f2f43-0000-4000-8000-000000000000'], 'there is no seller 6a0f2f43'],
])('%j is refused in a line', async (args, message) => {
  const { code, stdout, stderr } = await cli(...args);
  expect(code).not.toBe(0);
  expect(stdout).toBe('');
  expect(stderr).toContain('error: ');
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/^ +at /m);
});

test('a rotated secret is shown once, and the older one signs beside it as long as asked', async () => {
  const seller = await createSeller(stack.db);
  const answer = await answerOf('webhook-secret', 'rotate', '--seller', seller.id, '--overlap-hours', '0.5');
  expect(await liveWebhookSecrets(stack.db, seller.id)).toEqual([answer.webhook_secret, seller.webhookSecret]);
  const minutes = (Date.parse(answer.previous_valid_until) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(29);
  expect(minutes).toBeLessThanOrEqual(30);
  await answerOf('webhook-secret', 'rotate', '--seller', seller.id, '--overlap-hours', '0');
  expect(await liveWebhookSecrets(stack.db, seller.id)).toHaveLength(1);
});
