import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { signWebhook } from '../../../src/webhooks/sign';
import { freePort } from '../../../tools/local-stack/ports';
import { PACKAGE_ROOT } from '../../../tools/package-root';
import { BASE } from '../../support/api';
import { installed } from '../../support/installed';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

// npm is slow on a busy machine.
jest.setTimeout(120_000);

interface Example {
  /** The commands of the example's page, from `folder`, which has a copy of `examples/`. */
  command: (port: number) => [string, ...string[]];
  installed: [string, ...string[]];
  pagePath: (page: string) => string;
}
const EXAMPLES: Record<string, Example> = {
  php: {
    // With errors displayed, which is PHP's default without a php.ini, an uncaught exception does not cause a 500.
    command: (port) => ['php', '-d', 'display_errors=1', '-S', `127.0.0.1:${port}`, '-t', 'examples/php'],
    installed: ['php', '-r', 'curl_init();'],
    pagePath: (page) => `/${page}.php`,
  },
  python: {
    command: () => ['python3', 'examples/python/shop.py'],
    installed: ['python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 11))'],
    pagePath: (page) => `/${page}`,
  },
  express: {
    command: () => [process.execPath, 'examples/express/start.mjs'],
    installed: [process.execPath, '--version'],
    pagePath: (page) => `/${page}`,
  },
};

const stack = useStack();
/** A shop's project: the examples, Express, and the client from its package file. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-examples-'));
  cpSync(path.join(PACKAGE_ROOT, 'examples'), path.join(folder, 'examples'), { recursive: true });
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const tarball = run(process.execPath, path.join(PACKAGE_ROOT, 'tools/pack-client.mjs')).trim();
  run('npm', 'install', '--offline', '--no-audit', '--no-fund', `./${tarball}`);
  mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
  symlinkSync(path.join(PACKAGE_ROOT, 'node_modules/express'), path.join(folder, 'node_modules/express'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const running = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of running) {
    const closed = once(child, 'close');
    child.kill();
    await closed;
  }
  running.clear();
});

interface RunningShop {
  url: string;
  /** What the shop has printed. */
  output: () => string;
}

async function startShop({ command }: Example, env: Record<string, string> = {}): Promise<RunningShop> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [program, ...args] = command(port);
  const { PATH, HOME } = process.env;
  const account = {
    ORDERS_URL: stack.api.url,
    SELLER_ID: stack.seller.id,
    SELLER_API_KEY: stack.seller.key,
    WEBHOOK_SECRET: stack.seller.webhookSecret,
  };
  const child = spawn(program, args, { cwd: folder, env: { PATH, HOME, ...account, PORT: String(port), ...env } });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until(
    () =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      ),
    'the shop responds',
  );
  return { url, output: () => output };
}

async function pay({ url }: RunningShop, cart: string): Promise<string> {
  const action = /action="(.*?)"/.exec(await (await fetch(url)).text())![1]!;
  const body = new URLSearchParams({ cart });
  const response = await fetch(new URL(action, url), { method: 'POST', body, redirect: 'manual' });
  expect(response.status).toBe(303);
  return response.headers.get('Location')!;
}

async function newCart({ url }: RunningShop): Promise<string> {
  return /name="cart" value="(.*?)"/.exec(await (await fetch(url)).text())![1]!;
}

function sendWebhook(url: string, id: string, body: string, signature: (timestamp: number) => string) {
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = {
    ...{ 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature(timestamp) },
    'Content-Type': 'application/json',
  };
  return fetch(url, { method: 'POST', headers, body });
}

const languages = installed(Object.keys(EXAMPLES), (language) => EXAMPLES[language]!.installed);

describe.each(languages)('the %s shop', (language) => {
  const example = EXAMPLES[language]!;
  const webhookUrl = ({ url }: RunningShop) => url + example.pagePath('webhook');
  const TEST_WEBHOOK = '{"type":"webhook.test","data":{}}';

  test('takes an order from the button to the return page, and receives its webhooks', async () => {
    const shop = await startShop(example);
    const cart = await newCart(shop);
    const orderUrl = await pay(shop, cart);
    // A second click on the button.
    expect(await pay(shop, cart)).toBe(orderUrl);
    const { data: orders } = (
      await stack.api.call('GET', `${BASE}/seller/${stack.seller.id}/order/?reference=cart-${cart}`)
    ).body;
    expect(orders).toMatchObject([{ amount: 1234.5, order_url: orderUrl, status: 'CREATED' }]);
    const [{ id, redirect_url: returnUrl }] = orders;
    expect(orders[0].cancel_url).toBe(returnUrl);

    expect(await (await fetch(returnUrl)).text()).toContain('Your order is not complete');
    for (const event of ['signup_started', 'approved', 'completed']) {
      expect((await stack.api.progress(id, event)).status).toBe(200);
    }
    const thanks = await (await fetch(returnUrl)).text();
    expect(thanks).toContain('Thank you for your order');
    expect(thanks).toContain('is SUCCESSFUL.');
    await until(() => shop.output().includes('webhook 3'), 'the shop prints the last webhook');
    expect(shop.output().match(/webhook \d: .*/g)).toEqual([
      `webhook 1: order ${id} changed from CREATED to PENDING`,
      `webhook 2: order ${id} changed from PENDING to APPROVED`,
      `webhook 3: order ${id} changed from APPROVED to SUCCESSFUL`,
    ]);
  });

  test('listens on PORT of this machine, and puts SHOP_URL, such as that of a tunnel, into the URLs of an order', async () => {
    const shop = await startShop(example, { SHOP_URL: 'https://shop.example' });
    const cart = await newCart(shop);
    await pay(shop, cart);
    const { data } = (await stack.api.call('GET', `${BASE}/seller/${stack.seller.id}/order/?reference=cart-${cart}`))
      .body;
    expect(data[0].redirect_url).toBe(`https://shop.example${example.pagePath('return')}?orderId=${data[0].id}`);
    expect(data[0].webhook_url).toBe(`https://shop.example${example.pagePath('webhook')}`);
  });

  test('after a cancellation, the button creates a new order; after the payment, it leads to the return page', async () => {
    const shop = await startShop(example);
    const cart = await newCart(shop);
    const find = async () =>
      (await stack.api.call('GET', `${BASE}/seller/${stack.seller.id}/order/?reference=cart-${cart}`)).body.data[0];
    const first = await pay(shop, cart);
    expect((await stack.api.cancel((await find()).id)).status).toBe(200);
    expect(await pay(shop, cart)).not.toBe(first);
    const { id, redirect_url: returnUrl } = await find();
    for (const event of ['signup_started', 'approved', 'completed']) {
      expect((await stack.api.progress(id, event)).status).toBe(200);
    }
    expect(await pay(shop, cart)).toBe(returnUrl);
  });

  test('does not tell a customer who may have paid to pay again if the order service cannot be read', async () => {
    const { url } = await startShop(example, { SELLER_API_KEY: 'sk_test_revoked' });
    const response = await fetch(`${url}${example.pagePath('return')}?orderId=${stack.seller.id}`);
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(await response.text()).toContain('do not pay again');
  });

  test('creates a new order for each visit of the product page', async () => {
    const shop = await startShop(example);
    expect(await pay(shop, await newCart(shop))).not.toBe(await pay(shop, await newCart(shop)));
  });

  test('does not claim a payment for an order that does not exist', async () => {
    const { url } = await startShop(example);
    const response = await fetch(`${url}${example.pagePath('return')}?orderId=${stack.seller.id}`);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await response.text()).not.toContain('Thank you');
  });

  test('responds with 400 to a forged webhook', async () => {
    const shop = await startShop(example);
    const { webhookSecret } = stack.seller;
    const send = (body: string) =>
      sendWebhook(webhookUrl(shop), 'msg_1', body, (timestamp) =>
        signWebhook([webhookSecret], 'msg_1', timestamp, TEST_WEBHOOK),
      );
    expect((await send(TEST_WEBHOOK)).status).toBe(204);
    expect((await send(TEST_WEBHOOK.replace('test', 'fake'))).status).toBe(400);
    expect((await fetch(webhookUrl(shop), { method: 'POST' })).status).toBe(400);
  });

  test.each(['', 'whsec_'])('responds with 500 to every webhook if its secret is "%s"', async (secret) => {
    const shop = await startShop(example, { WEBHOOK_SECRET: secret });
    const forged = (timestamp: number) =>
      `v1,${createHmac('sha256', '').update(`msg_1.${timestamp}.${TEST_WEBHOOK}`).digest('base64')}`;
    expect((await sendWebhook(webhookUrl(shop), 'msg_1', TEST_WEBHOOK, forged)).status).toBe(500);
  });
});

test('the webhook receiver survives a client that disconnects in the middle of a body', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { webhookSecret } = stack.seller;
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: webhookSecret, RECEIVER_PORT: String(port) };
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, 'examples/webhook-receiver.mjs')], { env });
  running.add(child);
  await once(child.stdout, 'data');
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve) => socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{', resolve));
  socket.destroy();
  const body = '{"type":"webhook.test","data":{}}';
  // A receiver that exits could still answer the first one.
  for (const id of ['msg_1', 'msg_2']) {
    const response = await sendWebhook(url, id, body, (timestamp) => signWebhook([webhookSecret], id, timestamp, body));
    expect(response.status).toBe(204);
  }
});
