import type { Api } from '../../support/api';
import { BASE, apiOf } from '../../support/api';
import { runCli } from '../../support/cli';
import { openOrder } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { killProcesses, startProcess } from '../../support/processes';
import { startReceiver } from '../../support/receiver';
import type { Stack } from '../../support/stack';
import { createSeller, startStack } from '../../support/stack';
import { until } from '../../support/until';

/** Until when every API process must know. */
const WITHIN_MS = 5000;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());
afterEach(killProcesses);

async function ask(...args: string[]): Promise<any> {
  const run = await runCli([...args, '--json'], { DATABASE_URL: stack.databaseUrl });
  expect(run).toMatchObject({ stderr: '', code: 0 });
  return run.json();
}

/** The answers of each API process to the same call. */
async function answers(apis: Api[], path: string, key: string) {
  return Promise.all(apis.map((api) => api.call('GET', path, { key })));
}

test('a revoked key and a disabled seller are refused by two API processes within 5 s, and nobody else is', async () => {
  const env = {
    ...stack.env,
    TEMPORAL_ADDRESS: stack.temporal.connectionOptions.address!,
    TEMPORAL_NAMESPACE: stack.temporal.namespace!,
  };
  const servers = await Promise.all([startProcess('server', env), startProcess('server', env)]);
  const apis = servers.map(({ port }) => apiOf(`http://127.0.0.1:${port}`, stack.seller, stack.api.checkoutKey));
  const seller = await createSeller(stack.db);
  const path = `${BASE}/seller/${seller.id}/connection_check/`;
  const second = await ask('key', 'create', seller.id);
  const statuses = async (key: string) => (await answers(apis, path, key)).map(({ status }) => status);
  // Both processes have seen both keys: what they might remember of them would be good.
  expect([await statuses(seller.key), await statuses(second.api_key)]).toEqual([
    [200, 200],
    [200, 200],
  ]);

  await ask('key', 'revoke', String(second.key_id));
  await until(async () => (await statuses(second.api_key)).join() === '401,401', 'the key is refused', WITHIN_MS);
  for (const answer of await answers(apis, path, second.api_key)) expectProblem(answer, 401, 'unauthorized');
  expect(await statuses(seller.key)).toEqual([200, 200]);

  await ask('seller', 'disable', seller.id);
  await until(async () => (await statuses(seller.key)).join() === '401,401', 'the seller is refused', WITHIN_MS);
  expect(await Promise.all(apis.map(async (api) => (await api.create()).status))).toEqual([201, 201]);

  await ask('seller', 'enable', seller.id);
  await until(async () => (await statuses(seller.key)).join() === '200,200', 'the seller is back', WITHIN_MS);
  expect(await statuses(second.api_key)).toEqual([401, 401]);
});

test('open orders of a disabled seller go on: the customer finishes, and webhooks are sent', async () => {
  const receiver = await startReceiver();
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await ask('seller', 'disable', stack.seller.id);
  for (const event of ['approved', 'completed']) {
    expect((await stack.api.progress(id, event)).status).toBe(200);
  }
  await until(() => receiver.deliveries.length === 3, 'all webhooks came');
  expect(receiver.deliveries.at(-1)!.body.data.order.status).toBe('SUCCESSFUL');
  expectProblem(await stack.api.get(id), 401, 'unauthorized');
  await ask('seller', 'enable', stack.seller.id);
  expect((await stack.api.get(id)).body.data.status).toBe('SUCCESSFUL');
  await receiver.stop();
});
