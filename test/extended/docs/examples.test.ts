import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { signWebhook } from '../../../src/webhooks/sign';
import { freePort } from '../../../tools/local-stack/ports';
import { PACKAGE_ROOT } from '../../../src/package';
import { useFolder } from '../../support/folder';
import { packClient } from '../../support/pack-client';
import { BASE } from '../../support/api';
import { startTestServer } from '../../support/listening-server';
import { installed } from '../../support/installed';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

// npm is slow on a busy machine.
jest.setTimeout(600_000);

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

const stack = useSharedStack();
/** A shop's project: the examples, Express, and the client from its package file. */
const folder = useFolder();
beforeAll(() => {
  cpSync(path.join(PACKAGE_ROOT, 'examples'), path.join(folder, 'examples'), { recursive: true });
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const tarball = packClient(folder);
  run('npm', 'install', '--offline', '--no-audit', '--no-fund', `./${tarball}`);
  mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
  symlinkSync(path.join(PACKAGE_ROOT, 'node_modules/express'), path.join(folder, 'node_modules/express'));
});

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
  const portSetting = args.join().includes(String(port)) ? {} : { PORT: String(port) };
  const child = spawn(program, args, { cwd: folder, env: { PATH, HOME, ...account, ...portSetting, ...env } });
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

async function pressButton({ url }: RunningShop, cart: string): Promise<Response> {
  const action = /action="(.*?)"/.exec(await (await fetch(url)).text())![1]!;
  return fetch(new URL(action, url), { method: 'POST', body: new URLSearchParams({ cart }), redirect: 'manual' });
}

async function pay(shop: RunningShop, cart: string): Promise<string> {
  const response = await pressButton(shop, cart);
  expect(response.status).toBe(303);
  return response.headers.get('Location')!;
}

/** The orders of a cart, newest first. */
async function ordersOf(cart: string): Promise<any[]> {
  const reference = `W-${createHash('sha256').update(cart).digest('hex').slice(0, 10).toUpperCase()}`;
  return (await stack.api.call('GET', `${BASE}/seller/${stack.seller.id}/order/?reference=${reference}`)).body.data;
}

async function complete(orderId: string): Promise<void> {
  for (const event of ['signup_started', 'approved', 'completed']) {
    expect((await stack.api.progress(orderId, event)).status).toBe(200);
  }
}

/** Copies an example again, with another price in its code. */
function setPrice(language: string, amount: string): void {
  const source = path.join(PACKAGE_ROOT, 'examples', language);
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const code = readFileSync(path.join(source, entry.name), 'utf8').replace(/\b1234\.50?\b/, amount);
    writeFileSync(path.join(folder, 'examples', language, entry.name), code);
  }
}

async function withServer(handler: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = await startTestServer(handler);
  await use(server.url).finally(() => server.close());
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
    const orders = await ordersOf(cart);
    expect(orders).toMatchObject([{ amount: 1234.5, order_url: orderUrl, status: 'CREATED' }]);
    const [{ id, reference, redirect_url: returnUrl }] = orders;
    // Customers and their bank see it.
    expect(reference.length).toBeLessThanOrEqual(18);
    expect(orders[0].cancel_url).toBe(returnUrl);

    const unpaid = await (await fetch(returnUrl)).text();
    expect(unpaid).toContain('Your order is not complete');
    // Whoever knows the id of the order learns neither its pay link nor the cart, with which /pay leads to it.
    expect([orderUrl, cart].filter((secret) => unpaid.includes(secret))).toEqual([]);
    await complete(id);
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

  test('shows the pay link only to the browser that pressed the button, if it shows it at all', async () => {
    const shop = await startShop(example);
    const cart = await newCart(shop);
    const response = await pressButton(shop, cart);
    const [{ order_url: orderUrl, redirect_url: returnUrl }] = await ordersOf(cart);
    const pageFor = async (Cookie: string) => (await fetch(returnUrl, { headers: { Cookie } })).text();
    const cookie = response.headers.get('Set-Cookie')?.split(';')[0];
    expect((await pageFor(cookie ?? '')).includes(orderUrl)).toBe(cookie !== undefined);
    for (const other of ['', 'cart=', 'cart=undefined', `cart=${'0'.repeat(32)}`])
      expect(await pageFor(other)).not.toContain(orderUrl);
  });

  test('listens on PORT of this machine, and puts SHOP_URL, such as that of a tunnel, into the URLs of an order', async () => {
    const shop = await startShop(example, { SHOP_URL: 'https://shop.example' });
    const cart = await newCart(shop);
    await pay(shop, cart);
    const [order] = await ordersOf(cart);
    expect(order.redirect_url).toBe(`https://shop.example${example.pagePath('return')}?orderId=${order.id}`);
    expect(order.webhook_url).toBe(`https://shop.example${example.pagePath('webhook')}`);
    // After a change of what the shop sends, the button leads to the same order.
    expect(await pay(await startShop(example), cart)).toBe(order.order_url);
    expect(await ordersOf(cart)).toHaveLength(1);
  });

  test('after a cancellation, the button creates a new order; after the payment, it leads to the return page', async () => {
    const shop = await startShop(example);
    const cart = await newCart(shop);
    const first = await pay(shop, cart);
    const [cancelled] = await ordersOf(cart);
    expect((await stack.api.cancel(cancelled.id)).status).toBe(200);
    expect(await pay(shop, cart)).not.toBe(first);
    const [{ id, redirect_url: returnUrl }] = await ordersOf(cart);
    await complete(id);
    expect(await pay(shop, cart)).toBe(returnUrl);
  });

  test('after a change of the price, the button leads to a new order, unless the order is paid: that is an error', async () => {
    const shop = await startShop(example);
    const [cart, paidCart] = [await newCart(shop), await newCart(shop)];
    const orderUrl = await pay(shop, cart);
    await pay(shop, paidCart);
    await complete((await ordersOf(paidCart))[0].id);
    setPrice(language, '1500');
    try {
      const restarted = await startShop(example);
      const newUrl = await pay(restarted, cart);
      expect(await pay(restarted, cart)).toBe(newUrl);
      expect(await ordersOf(cart)).toMatchObject([
        { amount: 1500, order_url: newUrl, status: 'CREATED' },
        { amount: 1234.5, order_url: orderUrl, status: 'UNSUCCESSFUL' },
      ]);
      const response = await pressButton(restarted, paidCart);
      expect(response.status).toBe(500);
      expect(await response.text()).toContain('do not pay again');
    } finally {
      setPrice(language, '1234.5');
    }
  });

  test('does not tell a customer who may have paid to pay again if the order service cannot be read', async () => {
    const { url, output } = await startShop(example, { SELLER_API_KEY: 'sk_test_revoked' });
    const response = await fetch(`${url}${example.pagePath('return')}?orderId=${stack.seller.id}`);
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(await response.text()).toContain('do not pay again');
    await until(() => output().includes('unauthorized'), 'the shop prints the code of the error');
  });

  test('does not follow a redirect of the order service, which could send the key to another host', async () => {
    const paths: (string | undefined)[] = [];
    await withServer(
      (request, response) => {
        paths.push(request.url);
        response.writeHead(302, { Location: '/elsewhere' }).end();
      },
      async (ordersUrl) => {
        const { url } = await startShop(example, { ORDERS_URL: ordersUrl });
        expect((await fetch(`${url}${example.pagePath('return')}?orderId=1`)).status).toBe(500);
        expect(paths).toEqual([`${BASE}/order/1/`]);
      },
    );
  });

  test('shows the page "Order not found" on the return page for every id without an order', async () => {
    const { url } = await startShop(example);
    for (const query of [`?orderId=${randomUUID()}`, '?orderId=1', '?orderId=', '?orderId[]=1', '']) {
      const response = await fetch(`${url}${example.pagePath('return')}${query}`);
      const text = await response.text();
      expect([query, response.status, text]).toEqual([query, 404, expect.stringContaining('Order not found')]);
      expect(text).not.toContain('pay again');
    }
  });

  test('after a 404 of another server, does not tell a customer who may have paid that there is no order', async () => {
    await withServer(
      (_request, response) => response.writeHead(404).end('<h1>Not Found</h1>'),
      async (ordersUrl) => {
        const { url } = await startShop(example, { ORDERS_URL: ordersUrl });
        const response = await fetch(`${url}${example.pagePath('return')}?orderId=${randomUUID()}`);
        expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('do not pay again')]);
      },
    );
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

/** Programs that print what the error of a call has: code, id of the order, request id and Retry-After. */
const ERROR_PROGRAMS: Record<string, string[]> = {
  php: [
    '-r',
    `require 'examples/php/order_service.php';
    try {
        order_service('GET', '/');
    } catch (OrderServiceException $error) {
        ['code' => $code, 'order_id' => $order, 'request_id' => $request] = $error->problem;
        echo json_encode([$code, $order, $request, $error->retry_after]);
    }`,
  ],
  python: [
    '-c',
    `import json, sys
sys.path.insert(0, 'examples/python')
import shop
try:
    shop.call('GET', '/')
except shop.OrderServiceError as error:
    print(json.dumps([*map(error.problem.get, ['code', 'order_id', 'request_id']), error.retry_after]))`,
  ],
};

test.each(languages.filter((language) => language in ERROR_PROGRAMS))(
  'an error of the %s shop has the code, the ids and the Retry-After of the response',
  async (language) => {
    const problem = { code: 'overloaded', detail: 'x', order_id: 'o-1', request_id: 'r-1' };
    const headers = { 'Content-Type': 'application/problem+json', 'Retry-After': '7' };
    await withServer(
      (_request, response) => response.writeHead(503, headers).end(JSON.stringify(problem)),
      async (url) => {
        const env = { ...process.env, ORDERS_URL: url, SELLER_API_KEY: 'sk_1' };
        const [program] = EXAMPLES[language]!.installed;
        const { stdout } = await promisify(execFile)(program, ERROR_PROGRAMS[language], { cwd: folder, env });
        expect(JSON.parse(stdout)).toEqual(['overloaded', 'o-1', 'r-1', 7]);
      },
    );
  },
);

async function startReceiver(): Promise<string> {
  const port = await freePort();
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: stack.seller.webhookSecret, RECEIVER_PORT: String(port) };
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, 'examples/webhook-receiver.mjs')], { env });
  running.add(child);
  await once(child.stdout, 'data');
  return `http://127.0.0.1:${port}`;
}

test('the webhook receiver closes the connection of a request with more than 1 MB', async () => {
  const url = await startReceiver();
  await expect(fetch(url, { method: 'POST', body: 'x'.repeat(2_000_000) })).rejects.toThrow('fetch failed');
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
});

test('the webhook receiver survives a client that disconnects in the middle of a body', async () => {
  const url = await startReceiver();
  const { webhookSecret } = stack.seller;
  const port = Number(new URL(url).port);
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
