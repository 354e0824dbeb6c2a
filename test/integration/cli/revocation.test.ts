import { type Api, BASE, apiOf } from '../../support/api';
import { runCli } from '../../support/cli';
import { openOrder } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { killProcesses, startProcess } from '../../support/processes';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { createSeller } from '../../support/stack';
import { until } from '../../support/until';

// Every command is a process, which starts slowly on a busy machine.
jest.setTimeout(600_000);

afterEach(killProcesses);
const stack = useSharedStack();
const receiver = useReceiver();

async function json(...args: string[]): Promise<any> {
  const run = await runCli([...args, '--json'], { DATABASE_URL: stack.databaseUrl });
  expect(run).toMatchObject({ stderr: '', code: 0 });
  return run.json();
}

/** Sends the same request to each API process. */
async function callAll(apis: Api[], path: string, key: string) {
  return Promise.all(apis.map((api) => api.call('GET', path, { key })));
}

test('two API processes reject a revoked key and a disabled seller, and accept everyone else', async () => {
  const start = () => startProcess('server', { ...stack.env, PORT: '0' });
  const servers = await Promise.all([start(), start()]);
  const apis = servers.map(({ port }) => apiOf(`http://127.0.0.1:${port}`, stack.seller, stack.api.checkoutKey));
  const seller = await createSeller(stack.db);
  const path = `${BASE}/seller/${seller.id}/connection_check/`;
  const second = await json('key', 'create', seller.id);
  const statuses = async (key: string) => (await callAll(apis, path, key)).map(({ status }) => status);
  // Both processes use both keys first, so that a cache of valid keys would show.
  expect([await statuses(seller.key), await statuses(second.api_key)]).toEqual([
    [200, 200],
    [200, 200],
  ]);

  await json('key', 'revoke', String(second.key_id));
  await until(async () => (await statuses(second.api_key)).join() === '401,401', 'both processes reject the key');
  for (const response of await callAll(apis, path, second.api_key)) expectProblem(response, 401, 'unauthorized');
  expect(await statuses(seller.key)).toEqual([200, 200]);

  await json('seller', 'disable', seller.id);
  await until(async () => (await statuses(seller.key)).join() === '401,401', 'both processes reject the seller');
  expect(await Promise.all(apis.map(async (api) => (await api.create()).status))).toEqual([201, 201]);

  await json('seller', 'enable', seller.id);
  await until(async () => (await statuses(seller.key)).join() === '200,200', 'both processes accept the seller');
  expect(await statuses(second.api_key)).toEqual([401, 401]);
});

test('open orders of a disabled seller continue: the customer completes them and webhooks are sent', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await json('seller', 'disable', stack.seller.id);
  for (const event of ['approved', 'completed']) {
    expect((await stack.api.progress(id, event)).status).toBe(200);
  }
  await until(() => receiver.deliveries.length === 3, 'all webhooks arrive');
  expect(receiver.deliveries.at(-1)!.body.data.order.status).toBe('SUCCESSFUL');
  const refused = await until(async () => {
    const response = await stack.api.get(id);
    return response.status === 200 ? undefined : response;
  }, 'the seller is refused');
  expectProblem(refused, 401, 'unauthorized');
  await json('seller', 'enable', stack.seller.id);
  expect((await stack.api.get(id)).body.data.status).toBe('SUCCESSFUL');
});
