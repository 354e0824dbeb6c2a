import { randomUUID } from 'node:crypto';
import type { CliRun } from '../../support/cli';
import { expectError, runCli } from '../../support/cli';
import { openOrder, timelineOf } from '../../support/orders';
import type { Stack } from '../../support/stack';
import { createSeller, startStack } from '../../support/stack';
import { startReceiver } from '../../support/receiver';
import { until } from '../../support/until';

let stack: Stack;
let env: Record<string, string>;
beforeAll(async () => {
  stack = await startStack();
  env = {
    DATABASE_URL: stack.databaseUrl,
    TEMPORAL_ADDRESS: stack.temporal.connectionOptions.address!,
    TEMPORAL_NAMESPACE: stack.temporal.namespace!,
  };
});
afterAll(() => stack.stop());

const cli = (...args: string[]): Promise<CliRun> => runCli(args, env);

async function ask(...args: string[]): Promise<any> {
  const run = await runCli([...args, '--json'], { ...env, CHECKOUT_BASE_URL: 'https://checkout.example' });
  expect(run).toMatchObject({ stderr: '', code: 0 });
  return run.json();
}

test('an order is shown as its seller sees it, with what operators need beside that', async () => {
  const { body } = await stack.api.create({ webhook_url: 'https://shop.example/hook', source: 'plugin' });
  const { id } = body.data;
  const shown = await ask('order', 'show', id);
  expect(shown).toMatchObject((await stack.api.get(id)).body.data);
  expect(shown).toMatchObject({
    seller_id: stack.seller.id,
    webhook_url: 'https://shop.example/hook',
    created_at: expect.any(String),
    expires_at: null,
    version: 1,
    workflow_id: `order-${id}`,
  });
  const { stdout } = await runCli(['order', 'show', id], { ...env, CHECKOUT_BASE_URL: 'https://checkout.example' });
  expect(stdout).toMatch(/^status: +CREATED$/m);
  expect(stdout).toMatch(/^order_url: +https:\/\/checkout.example\/pay\/\S+$/m);
});

test('orders are listed, the newest first, by seller, status and reference, a page at a time', async () => {
  const other = await createSeller(stack.db);
  const create = async (reference: string) => {
    const path = `/api/lending/edge/ecommerce/seller/${other.id}/order/`;
    const answer = await stack.api.call('POST', path, { key: other.key, body: { data: { amount: 12.5, reference } } });
    return answer.body.data.id as string;
  };
  const ids = [await create('first'), await create('second'), await create('third')].reverse();
  const listed = async (...options: string[]) => {
    const orders: { id: string }[] = await ask('order', 'list', '--seller', other.id, ...options);
    return orders.map(({ id }) => id);
  };
  expect(await listed()).toEqual(ids);
  expect(await listed('--limit', '2')).toEqual(ids.slice(0, 2));
  expect(await listed('--after', ids[1]!)).toEqual(ids.slice(2));
  expect(await listed('--after', ids[2]!)).toEqual([]);
  const nowhere = await cli('order', 'list', '--after', '00000000-0000-4000-8000-000000000000');
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no order 00000000-') });
  expect(await listed('--status', 'PENDING')).toEqual([]);
  expect(await listed('--since', '2026-01-01')).toEqual(ids);
  expect(await listed('--until', '2026-01-01')).toEqual([]);
  const [found] = await ask('order', 'list', '--reference', 'second');
  expect(found).toEqual({
    id: ids[1],
    seller_id: other.id,
    seller_name: 'Test Shop Ltd',
    reference: 'second',
    amount: 12.5,
    status: 'CREATED',
    created_at: expect.any(String),
    cancelled_at: null,
  });
  expect((await cli('order', 'list', '--seller', other.id)).stdout.split('\n')[1]).toMatch(
    new RegExp(`^${ids[0]}  ${other.id}  Test Shop Ltd  third +12.5 +CREATED`),
  );
  expect((await cli('order', 'list', '--status', 'SUCCESSFUL')).stdout).toBe('none\n');
});

test("an operator's cancel goes through the workflow: timeline and webhook say who and why", async () => {
  const receiver = await startReceiver();
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const cancelled = await ask('order', 'cancel', id, '--reason', 'asked for by phone');
  expect(cancelled).toEqual({ id, status: 'UNSUCCESSFUL', cancelled_at: expect.any(String) });
  expect((await stack.api.get(id)).body.data).toMatchObject(cancelled);
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'cancel',
    from_status: 'PENDING',
    to_status: 'UNSUCCESSFUL',
    actor: 'operator',
    reason: 'asked for by phone',
  });
  await until(() => receiver.deliveries.length === 2, 'the webhook came');
  expect(receiver.deliveries[1]!.body.data).toMatchObject({ actor: 'operator', reason: 'asked for by phone' });
  expect(await ask('order', 'cancel', id)).toEqual(cancelled);
  await receiver.stop();
});

test('the timeline tells changes and attempts at webhooks, to people in a line each', async () => {
  const receiver = await startReceiver();
  receiver.answerWith(() => (receiver.deliveries.length === 1 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await ask('order', 'timeline', id)).length === 4, 'both attempts are made');
  const { body } = await stack.api.call('GET', `/api/lending/edge/ecommerce/order/${id}/timeline/`);
  expect(await ask('order', 'timeline', id)).toEqual(body.data);
  const lines = (await cli('order', 'timeline', id)).stdout.split('\n').map((line) => line.split(/ {2,}/).slice(1));
  expect(lines.slice(0, 5)).toEqual([
    ['what', 'who', 'outcome', 'why'],
    ['created', 'seller', '- -> CREATED', '-'],
    ['signup_started', 'checkout', 'CREATED -> PENDING', '-'],
    ['webhook 1, attempt 1', body.data[2].webhook_id, 'http_status', expect.any(String)],
    ['webhook 1, attempt 2', body.data[2].webhook_id, '200', '-'],
  ]);
  await receiver.stop();
});

test('a SUCCESSFUL order is not cancelled', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
  expectError(await cli('order', 'cancel', id), 1, /The order is SUCCESSFUL and cannot be cancelled/);
});

test.each(['show', 'timeline', 'cancel'])('order %s of an unknown id: there is no such order', async (command) => {
  const id = randomUUID();
  const run = await runCli(['order', command, id], { ...env, CHECKOUT_BASE_URL: 'https://checkout.example' });
  expectError(run, 1, new RegExp(`there is no order ${id}$`, 'm'));
});

describe('a cancel that cannot be made is told in a line:', () => {
  let id: string;
  beforeAll(async () => {
    id = await openOrder(stack);
  });

  test('Temporal is down', async () => {
    const run = await runCli(['order', 'cancel', id], { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expectError(run, 1, /Temporal cannot be reached at 127.0.0.1:1/);
  });

  test('no such namespace', async () => {
    const run = await runCli(['order', 'cancel', id], { ...env, TEMPORAL_NAMESPACE: 'elsewhere' });
    expectError(run, 1, /elsewhere/);
  });

  test('no worker is up, so that the outcome is unknown', async () => {
    await stack.stopWorker();
    const run = await runCli(['order', 'cancel', id], { ...env, UPDATE_TIMEOUT_MS: '500' });
    expectError(run, 1, /The outcome is unknown.*Repeating the same call is safe/);
    await stack.startWorker();
    expect(await ask('order', 'cancel', id)).toMatchObject({ status: 'UNSUCCESSFUL' });
  });
});
