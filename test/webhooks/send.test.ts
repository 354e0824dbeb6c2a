import type { ServerResponse } from 'node:http';
import type { LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import { createWebhookSender, type SenderOptions, type WebhookSender } from '../../src/webhooks/send';
import { generateWebhookSecret, signWebhook } from '../../src/webhooks/sign';
import { answering, closedPort, startReceiver, startTcpReceiver, stopReceivers } from './receivers';

const local = { allowPrivate: true, allowHttp: true };
const timeoutMs = 300;
/** For a loaded machine; far from what any of the receivers would take on its own. */
const slackMs = 1000;

let senders: WebhookSender[] = [];

afterEach(async () => {
  await Promise.all(senders.map((sender) => sender.close()));
  senders = [];
  await stopReceivers();
});

function sender(options: Partial<SenderOptions> = {}): WebhookSender {
  const made = createWebhookSender({ policy: local, timeoutMs, ...options });
  senders.push(made);
  return made;
}

const webhook = (url: string, body = '{"type":"order.status_changed"}') => ({
  ...{ url, id: 'evt_1', timestamp: 1_750_000_000, signature: 'v1,c2lnbmF0dXJl', body },
});

async function sendTo(answer: (response: ServerResponse) => void, options: Partial<SenderOptions> = {}) {
  const receiver = await startReceiver((_request, response) => answer(response));
  const attempt = await sender(options).send(webhook(`http://127.0.0.1:${receiver.port}/hook`));
  return { receiver, attempt };
}

/** Resolves once the receiver sees that its connection is gone. */
async function closedBySender(socket: { destroyed: boolean } | undefined): Promise<void> {
  const until = Date.now() + slackMs;
  while (socket?.destroyed !== true && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(socket?.destroyed).toBe(true);
}

describe('a webhook that is delivered', () => {
  test('reaches the receiver byte for byte, with headers that it can verify', async () => {
    const receiver = await startReceiver((_request, response) => response.end('thanks'));
    const secret = generateWebhookSecret();
    const timestamp = Math.floor(Date.now() / 1000);
    const body = '{"name":"Zoë 🛒",  "amount":10.10}';
    const signature = signWebhook([secret], 'evt_7', timestamp, body);
    const url = `http://127.0.0.1:${receiver.port}/hook/?shop=1&q=%20#part`;
    const attempt = await sender().send({ url, id: 'evt_7', timestamp, signature, body });

    expect(attempt).toEqual({
      status: 200,
      outcome: 'delivered',
      error: null,
      errorDetail: null,
      durationMs: expect.any(Number),
      phases: { connectedMs: expect.any(Number), headersMs: expect.any(Number) },
      peerAddress: '127.0.0.1',
      responseBody: 'thanks',
      retryAfterMs: null,
    });
    const { connectedMs, headersMs } = attempt.phases;
    expect(connectedMs).toBeLessThanOrEqual(headersMs!);
    expect(headersMs).toBeLessThanOrEqual(attempt.durationMs);
    expect(receiver.received).toHaveLength(1);
    const [{ method, url: path, headers, body: got }] = receiver.received as [any];
    expect([method, path, got]).toEqual(['POST', '/hook/?shop=1&q=%20', body]);
    expect(headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      connection: 'close',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'order-service-webhooks/1',
      'webhook-id': 'evt_7',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
    });
    expect(new Webhook(secret).verify(got, headers)).toEqual(JSON.parse(body));
  });

  test.each([200, 201, 202, 204, 299])('is so by status %i', async (status) => {
    const { attempt } = await sendTo((response) => response.writeHead(status).end());
    expect(attempt).toMatchObject({ status, outcome: 'delivered', error: null });
  });

  test('resolves the name anew for each attempt', async () => {
    const receiver = await startReceiver((_request, response) => response.end());
    const lookup = answering(['127.0.0.1']);
    const { send } = sender({ lookup });
    await send(webhook(`http://hook.example:${receiver.port}/`));
    await send(webhook(`http://hook.example:${receiver.port}/`));
    expect([lookup.calls, receiver.received.length]).toEqual([2, 2]);
  });

  test('is so by its status line, though the body trickles on past the deadline', async () => {
    const { attempt, receiver } = await sendTo((response) => {
      response.write('a');
      const drip = setInterval(() => response.write('a'), 50);
      response.on('close', () => clearInterval(drip));
    });
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', error: null });
    expect(attempt.responseBody).toMatch(/^a{2,}$/);
    expect(attempt.durationMs).toBeGreaterThanOrEqual(timeoutMs - 10);
    expect(attempt.durationMs).toBeLessThan(timeoutMs + slackMs);
    await closedBySender(receiver.sockets[0]);
  });

  test('is so by its status line, though the body breaks off', async () => {
    const { attempt } = await sendTo((response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('half');
      setTimeout(() => response.socket?.resetAndDestroy(), 50);
    });
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', error: null, responseBody: 'half' });
  });
});

describe('an answer', () => {
  test('without an end is cut off after some 64 KiB, long before the deadline', async () => {
    const chunk = Buffer.alloc(16 * 1024, 'x');
    const { attempt, receiver } = await sendTo(
      (response) => {
        const pump = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', pump);
        pump();
      },
      { timeoutMs: 10_000 },
    );
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', responseBody: 'x'.repeat(1024) });
    expect(attempt.durationMs).toBeLessThan(2000);
    await closedBySender(receiver.sockets[0]);
    // The rest of it is what the kernel's buffers hold.
    expect(receiver.sockets[0]!.bytesWritten).toBeLessThan(16 * 1024 * 1024);
  });

  test('of 60 KiB is taken to its end, so that the receiver sees no broken connection', async () => {
    let finished: Promise<boolean> | undefined;
    const { attempt } = await sendTo((response) => {
      finished = new Promise((resolve) => {
        response.on('close', () => resolve(response.writableFinished));
      });
      response.end(Buffer.alloc(60 * 1024, 'y'));
    });
    expect(attempt.responseBody).toBe('y'.repeat(1024));
    expect(await finished).toBe(true);
  });

  test('that is a gzip bomb stays packed', async () => {
    const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024, 'z'));
    const { attempt, receiver } = await sendTo((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length }).end(bomb),
    );
    expect(receiver.received[0]!.headers['accept-encoding']).toBeUndefined();
    expect(attempt.outcome).toBe('delivered');
    expect(attempt.responseBody).not.toContain('zzzz');
    expect(Buffer.byteLength(attempt.responseBody)).toBeLessThanOrEqual(1024);
  });

  test.each<[string, Buffer, string]>([
    ['NUL', Buffer.from('a\0b\0'), 'ab'],
    ['bad UTF-8', Buffer.from([0x61, 0xff, 0xc3, 0x28]), 'a\ufffd\ufffd('],
    ['a character across the 1 KiB mark', Buffer.from(`${'a'.repeat(1022)}🛒`), 'a'.repeat(1022)],
    ['bad UTF-8 throughout', Buffer.alloc(2000, 0xff), '\ufffd'.repeat(341)],
    ['an encoded surrogate', Buffer.from([0x61, 0xed, 0xa0, 0x80]), 'a\ufffd\ufffd\ufffd'],
    ['nothing', Buffer.alloc(0), ''],
  ])('with %s is kept as text that Postgres takes', async (_what, bytes, text) => {
    const { attempt } = await sendTo((response) => response.end(bytes));
    expect(attempt.responseBody).toBe(text);
    expect(Buffer.from(text).toString()).toBe(text);
  });

  test('that is not HTTP, or has endless headers, is invalid', async () => {
    const other = await startTcpReceiver((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.0\r\n')));
    const endless = await startTcpReceiver((socket) =>
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${'X-Pad: 0123456789\r\n'.repeat(5000)}`)),
    );
    for (const { port } of [other, endless]) {
      const attempt = await sender().send(webhook(`http://127.0.0.1:${port}/`));
      expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'invalid_response' });
    }
  });
});

describe('a receiver that does not take a webhook', () => {
  test.each([400, 401, 404, 500, 502, 599])('fails the attempt by status %i', async (status) => {
    const { attempt } = await sendTo((response) => response.writeHead(status, { 'retry-after': '9' }).end('oh\nno'));
    expect(attempt).toMatchObject({
      status,
      outcome: 'failed',
      error: 'http_status',
      errorDetail: `answered ${status}`,
    });
    expect(attempt).toMatchObject({ responseBody: 'oh\nno', retryAfterMs: null });
  });

  test.each([429, 503])('says by %i and Retry-After how long to wait, in seconds or as a date', async (status) => {
    const inSeconds = await sendTo((response) => response.writeHead(status, { 'retry-after': '120' }).end());
    expect(inSeconds.attempt).toMatchObject({ status, outcome: 'failed', error: 'http_status', retryAfterMs: 120_000 });
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    const byDate = await sendTo((response) => response.writeHead(status, { 'retry-after': date }).end());
    expect(byDate.attempt.retryAfterMs).toBeGreaterThan(3_590_000);
    expect(byDate.attempt.retryAfterMs).toBeLessThanOrEqual(3_600_000);
    const without = await sendTo((response) => response.writeHead(status).end());
    expect(without.attempt.retryAfterMs).toBeNull();
  });

  test('says by 410 that it wants no more', async () => {
    const { attempt } = await sendTo((response) => response.writeHead(410, { 'retry-after': '9' }).end());
    expect(attempt).toMatchObject({ status: 410, outcome: 'gone', error: 'http_status', retryAfterMs: null });
  });

  test.each([301, 302, 303, 307, 308])('is not followed when it redirects inwards by %i', async (status) => {
    const inside = await startReceiver((_request, response) => response.end('secret'));
    const location = `http://127.0.0.1:${inside.port}/latest/meta-data/`;
    const { attempt } = await sendTo((response) => response.writeHead(status, { location }).end());
    expect(attempt).toMatchObject({ status, outcome: 'failed', error: 'redirect' });
    expect(attempt.errorDetail).toBe(`answered ${status} (to ${location}); redirects are not followed`);
    expect(inside.sockets).toHaveLength(0);
  });

  test('keeps its error detail in a bounded line of plain text', async () => {
    const location = `/${'a\t\u0080'.repeat(500)}`;
    const { attempt } = await sendTo((response) => response.writeHead(302, { location }).end());
    expect(attempt.errorDetail).toMatch(/^answered 302 \(to \/[^\p{Cc}]*$/u);
    expect(attempt.errorDetail).toHaveLength(300);
  });

  test('fails by its status, though the body has no end in time', async () => {
    const { attempt } = await sendTo((response) => response.writeHead(500).write('slow'));
    expect(attempt).toMatchObject({ status: 500, outcome: 'failed', error: 'http_status', responseBody: 'slow' });
    expect(attempt.durationMs).toBeGreaterThanOrEqual(timeoutMs - 10);
  });
});

describe('a receiver in trouble', () => {
  test('that answers 200 after the deadline has failed, and its connection is closed', async () => {
    const { attempt, receiver } = await sendTo((response) => {
      const answer = setTimeout(() => response.end(), 3 * timeoutMs);
      response.on('close', () => clearTimeout(answer));
    });
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'timeout', peerAddress: '127.0.0.1' });
    expect(attempt.errorDetail).toBe('no answer within 300 ms');
    expect(attempt.phases).toEqual({ connectedMs: expect.any(Number), headersMs: null });
    expect(attempt.durationMs).toBeGreaterThanOrEqual(timeoutMs - 10);
    expect(attempt.durationMs).toBeLessThan(2 * timeoutMs);
    await closedBySender(receiver.sockets[0]);
  });

  test('whose headers come a byte at a time has failed at the deadline', async () => {
    const receiver = await startTcpReceiver((socket) => {
      const answer = 'HTTP/1.1 200 OK\r\nX-Pad: ';
      let sent = 0;
      const drip = setInterval(() => socket.write(answer.charAt(sent++) || 'a'), 5);
      socket.on('close', () => clearInterval(drip));
    });
    const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'timeout' });
    expect(attempt.durationMs).toBeLessThan(timeoutMs + slackMs);
  });

  test('that says 100 Continue and 103 for ever has failed at the deadline', async () => {
    const receiver = await startTcpReceiver((socket) => {
      const drip = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
      socket.on('close', () => clearInterval(drip));
    });
    const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'timeout' });
  });

  test('whose name is never resolved has failed at the deadline', async () => {
    const lookup: LookupFunction = () => undefined;
    const attempt = await sender({ lookup }).send(webhook('http://silent.example/'));
    expect(attempt).toMatchObject({ status: null, error: 'timeout', peerAddress: null });
    expect(attempt.phases).toEqual({ connectedMs: null, headersMs: null });
    expect(attempt.durationMs).toBeLessThan(timeoutMs + slackMs);
  });

  test('whose name is unknown has failed by dns', async () => {
    const lookup: LookupFunction = (name, _options, callback) => {
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), {
        code: 'ENOTFOUND',
        syscall: 'getaddrinfo',
      });
      process.nextTick(callback, error, []);
    };
    const attempt = await sender({ lookup }).send(webhook('http://unknown.example/'));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'dns', peerAddress: null });
    expect(attempt.errorDetail).toBe('getaddrinfo ENOTFOUND unknown.example');
  });

  test('whose resolver refuses is in trouble by dns, not refused by the receiver', async () => {
    const lookup: LookupFunction = (_name, _options, callback) => {
      const error = Object.assign(new Error('queryA ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'queryA' });
      process.nextTick(callback, error, []);
    };
    expect((await sender({ lookup }).send(webhook('http://unknown.example/'))).error).toBe('dns');
  });

  test('where nothing listens has refused, at one address or at each of several', async () => {
    const port = await closedPort();
    const one = await sender().send(webhook(`http://127.0.0.1:${port}/`));
    expect(one).toMatchObject({ status: null, outcome: 'failed', error: 'refused', peerAddress: null });
    const lookup = answering(['127.0.0.1', '127.0.0.2']);
    const several = await sender({ lookup }).send(webhook(`http://several.example:${port}/`));
    expect(several).toMatchObject({ error: 'refused', errorDetail: expect.stringMatching(/./) });
  });

  test.each([
    ['resets the connection', 'reset'],
    ['closes it without an answer', 'close'],
  ])('that takes the request and %s has failed by reset', async (_what, how) => {
    const { attempt, receiver } = await sendTo(({ socket }) =>
      how === 'reset' ? socket?.resetAndDestroy() : socket?.end(),
    );
    expect(receiver.received).toHaveLength(1);
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'reset', peerAddress: '127.0.0.1' });
  });
});

describe('a sender', () => {
  test.each<[string, string, RegExp]>([
    ['ftp://example.com/', 'invalid_url', /must use https/],
    ['https://user@example.com/', 'invalid_url', /user name/],
    ['nonsense', 'invalid_url', /absolute URL/],
    ['http://example.com/', 'invalid_url', /must use https/],
    ['https://127.0.0.1/', 'address_refused', /private or reserved/],
    ['https://localhost:8443/', 'address_refused', /localhost/],
    ['https://example.com:22/', 'address_refused', /port/],
  ])('in production does not send to %s', async (url, error, detail) => {
    const attempt = await sender({ policy: { allowPrivate: false, allowHttp: false } }).send(webhook(url));
    expect(attempt).toMatchObject({
      status: null,
      outcome: 'failed',
      error,
      errorDetail: expect.stringMatching(detail),
    });
  });

  test('does not send to a name that leads inwards, and does not tell where it led', async () => {
    const receiver = await startReceiver((_request, response) => response.end());
    const { send } = sender({ policy: { allowPrivate: false, allowHttp: true }, lookup: answering(['127.0.0.1']) });
    const attempt = await send(webhook(`http://inwards.example:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'address_refused', peerAddress: null });
    expect(attempt.errorDetail).toBe('the host name leads to an address that is not public');
    expect(receiver.sockets).toHaveLength(0);
  });

  test('is not held up at one receiver by another', async () => {
    const slow = await startReceiver(() => undefined);
    const quick = await startReceiver((_request, response) => response.end());
    const { send } = sender({ timeoutMs: 1000 });
    const stuck = Array.from({ length: 50 }, () => send(webhook(`http://127.0.0.1:${slow.port}/`)));
    const attempt = await send(webhook(`http://127.0.0.1:${quick.port}/`));
    expect(attempt).toMatchObject({ outcome: 'delivered' });
    expect(attempt.durationMs).toBeLessThan(900);
    expect((await Promise.all(stuck)).map(({ error }) => error)).toEqual(Array(50).fill('timeout'));
  });

  test('once closed has let the attempts under way end, and takes no more', async () => {
    const receiver = await startReceiver((_request, response) => void setTimeout(() => response.end(), 100));
    const closing = sender();
    let ended = false;
    const sending = closing.send(webhook(`http://127.0.0.1:${receiver.port}/`)).finally(() => (ended = true));
    await closing.close();
    expect(ended).toBe(true);
    expect(await sending).toMatchObject({ outcome: 'delivered' });
    await expect(closing.send(webhook(`http://127.0.0.1:${receiver.port}/`))).rejects.toThrow('closed');
  });
});
