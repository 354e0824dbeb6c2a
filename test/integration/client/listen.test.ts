import { spawn } from 'node:child_process';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../../tools/local-stack/ports';
import { PACKAGE_ROOT } from '../../../src/package';
import { startHttpProxy } from '../../support/http-proxy';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { createSeller } from '../../support/stack';
import { until } from '../../support/until';

const stack = useSharedStack();
/** The `webhook_url`, and the receiver on the developer's machine. */
const [remote, local] = [useReceiver(), useReceiver()];

function listen(args: string[], seller = stack.seller, serviceUrl = stack.api.url) {
  const { PATH } = process.env;
  const env = { PATH, ORDERS_URL: serviceUrl, SELLER_ID: seller.id, SELLER_API_KEY: seller.key };
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, 'packages/client/dist/bin.js'), 'listen', ...args], {
    env,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, exited, output: () => output };
}

test('listen forwards new webhooks once, in order, with the bytes that the service sent and a valid signature', async () => {
  await openOrder(stack, { webhook_url: remote.url }, ['signup_started']);
  await until(() => remote.deliveries.length === 1, 'a webhook from before the start');
  const running = listen(['--forward-to', local.url]);
  await until(() => running.output().includes('Forwarding'), 'listen is ready');
  local.answerWith(() => (local.deliveries.length === 1 ? 500 : 204));
  await openOrder(stack, { webhook_url: remote.url, reference: 'INV-1' }, ['signup_started', 'approved', 'completed']);
  await until(() => local.deliveries.length === 3 && remote.deliveries.length === 4, 'the webhooks arrive');
  const sent = remote.deliveries.slice(1);
  expect(local.deliveries.map(({ text }) => text)).toEqual(sent.map(({ text }) => text));
  for (const [index, { text, headers }] of local.deliveries.entries()) {
    new Webhook(stack.seller.webhookSecret).verify(text, headers as Record<string, string>);
    expect(headers['webhook-id']).toBe(sent[index]!.headers['webhook-id']);
    expect(headers['user-agent']).toBe(sent[index]!.headers['user-agent']);
  }
  await until(() => running.output().includes('APPROVED -> SUCCESSFUL'), 'the last line is printed');
  running.child.kill('SIGINT');
  expect(await running.exited).toBe(0);
  expect(running.output().split('\n').slice(1, 4)).toEqual([
    'INV-1: CREATED -> PENDING: 500',
    'INV-1: PENDING -> APPROVED: 204',
    'INV-1: APPROVED -> SUCCESSFUL: 204',
  ]);
});

test('listen forwards the webhooks of an order without a webhook_url', async () => {
  const running = listen(['--forward-to', local.url]);
  await until(() => running.output().includes('Forwarding'), 'listen is ready');
  await openOrder(stack, { reference: 'INV-0' }, ['signup_started']);
  await until(() => running.output().includes('INV-0: CREATED -> PENDING: '), 'the webhook is forwarded');
  running.child.kill('SIGTERM');
  await running.exited;
});

test('listen reports a receiver that is not running and continues', async () => {
  const running = listen(['--forward-to', `http://127.0.0.1:${await freePort()}/`]);
  await until(() => running.output().includes('Forwarding'), 'listen is ready');
  await openOrder(stack, { webhook_url: remote.url, reference: 'INV-2' }, ['signup_started']);
  await until(() => /INV-2: CREATED -> PENDING: not received \(.*ECONNREFUSED/.test(running.output()), 'a line');
  expect(running.child.exitCode).toBe(null);
  running.child.kill('SIGTERM');
  await running.exited;
});

test.each([
  // The client makes four tries.
  ['408s, with which a proxy refuses slow requests', 408, 4],
  ['a refused call, such as a 403 of a proxy', 403, 1],
])('listen continues after %s', async (_, status, times) => {
  const proxy = await startHttpProxy(stack.api.url);
  const running = listen(['--forward-to', local.url], stack.seller, proxy.url);
  try {
    await until(() => running.output().includes('Forwarding'), 'listen is ready');
    const refuse: Parameters<typeof proxy.failNext>[0] = (incoming, response) => {
      incoming.resume();
      response.writeHead(status).end();
    };
    proxy.failNext(...Array<typeof refuse>(times).fill(refuse));
    // Not the status alone: a port can contain it.
    await until(() => new RegExp(`^(?!Forwarding).*${status}`, 'm').test(running.output()), 'the error is printed');
    await openOrder(stack, { webhook_url: remote.url, reference: `INV-${status}` }, ['signup_started']);
    await until(() => running.output().includes(`INV-${status}: CREATED -> PENDING`), 'a later webhook is forwarded');
    expect(running.child.exitCode).toBe(null);
  } finally {
    running.child.kill('SIGTERM');
    await running.exited;
    await proxy.stop();
  }
});

test('listen refuses a live account, an unknown or missing key and wrong usage, in a message', async () => {
  const live = await createSeller(stack.db);
  const forward = ['--forward-to', 'http://localhost:8080/'];
  const runs = [
    [listen(forward, live), 'SELLER_API_KEY is not the key of a sandbox account'],
    [
      listen(forward, { ...live, key: `sk_test_${'x'.repeat(43)}` }),
      'is unknown or revoked, or its account is disabled',
    ],
    [listen(forward, { ...live, key: '' }), 'SELLER_API_KEY is not set, or not exported'],
    [listen([]), 'Usage: order-service listen --forward-to <url>'],
    [
      listen(['--forward-to', 'localhost:8080']),
      '--forward-to must be a URL that starts with http:// or https://: localhost:8080',
    ],
  ] as const;
  for (const [{ exited, output }, message] of runs) {
    expect(await exited).toBe(1);
    expect(output()).toContain(message);
    expect(output()).not.toContain('    at ');
  }
});
