import { once } from 'node:events';
import { stat } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Webhook } from 'standardwebhooks';
import { generateWebhookSecret, signWebhook } from '../../../src/webhooks/sign';
import type { ServerResponse } from 'node:http';
import { startRecordingServer, stopRecordingServers } from '../../support/recording-server';
import { until } from '../../support/until';
import { lookupReturning } from './lookup';
import { expectClosed, sender, sendTo, CONNECTED_TIMEOUT_MS, webhook } from '../../support/sending';

afterEach(stopRecordingServers);

describe('a webhook', () => {
  test('reaches the receiver byte for byte, with a signature that verifies, and asks for an answer that is not compressed', async () => {
    const receiver = await startRecordingServer((_request, response) => response.end('thanks'));
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
      operatorDetail: null,
      durationMs: expect.any(Number),
      connectedMs: expect.any(Number),
      headersMs: expect.any(Number),
      address: '127.0.0.1',
      responseBody: 'thanks',
      hasStaticHeaders: false,
      retryAfterMs: null,
    });
    const { connectedMs, headersMs } = attempt;
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
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'order-service-webhooks/1',
      'webhook-id': 'evt_7',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
    });
    expect(new Webhook(secret).verify(got, headers)).toEqual(JSON.parse(body));
  });

  test("carries the seller's static headers, which override none of the service's own", async () => {
    const receiver = await startRecordingServer((_request, response) => response.end());
    const own = { ...webhook(`http://127.0.0.1:${receiver.port}/`), traceparent: '00-1-2-01' };
    const names = ['host', 'accept', 'user-agent', 'content-type', 'content-length', 'webhook-id', 'traceparent'];
    const forged = Object.fromEntries(names.map((name) => [name, 'forged']));
    await sender().send(own);
    const attempt = await sender().send({ ...own, headers: { ...forged, authorization: 'Bearer of-the-gateway' } });
    expect(attempt.hasStaticHeaders).toBe(true);
    const [before, after] = receiver.received;
    expect(after!.headers).toEqual({ ...before!.headers, authorization: 'Bearer of-the-gateway' });
  });

  test.each([200, 299])('is delivered with status %i', async (status) => {
    const { attempt } = await sendTo((response) => response.writeHead(status).end());
    expect(attempt).toMatchObject({ status, outcome: 'delivered', error: null });
  });

  test('is sent to a freshly resolved address in each attempt', async () => {
    const receiver = await startRecordingServer((_request, response) => response.end());
    const lookup = lookupReturning(['127.0.0.1']);
    const { send } = sender({ lookup });
    await send(webhook(`http://hook.example:${receiver.port}/`));
    await send(webhook(`http://hook.example:${receiver.port}/`));
    expect([lookup.calls, receiver.received.length]).toEqual([2, 2]);
  });

  test('is delivered with its status line even if the body continues past the deadline', async () => {
    const { attempt, receiver } = await sendTo(
      (response) => {
        response.write('a');
        const drip = setInterval(() => response.write('a'), 50);
        response.on('close', () => clearInterval(drip));
      },
      { timeoutMs: CONNECTED_TIMEOUT_MS },
    );
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', error: null });
    expect(attempt.responseBody).toMatch(/^a{2,}$/);
    await expectClosed(receiver.sockets[0]);
  });

  test('is delivered with its status line even if the body breaks off', async () => {
    const { attempt } = await sendTo((response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('half');
      setTimeout(() => response.socket?.resetAndDestroy(), 50);
    });
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', error: null, responseBody: 'half' });
  });
});

describe('a sender', () => {
  test.each<[string, RegExp]>([
    ['ftp://example.com/', /absolute http/],
    ['http://example.com/', /must use https/],
    ['https://127.0.0.1/', /private or reserved/],
  ])('does not send to %s in production', async (url, detail) => {
    const attempt = await sender({ policy: { allowPrivate: false, allowHttp: false } }).send(webhook(url));
    expect(attempt).toMatchObject({
      status: null,
      outcome: 'failed',
      error: 'invalid_url',
      errorDetail: expect.stringMatching(detail),
    });
  });

  test.each([
    ['the answer that has arrived in the meantime', 'response.end()', { status: 200, outcome: 'delivered' }],
    ['a timeout if there is none', 'undefined', { status: null, error: 'timeout' }],
  ])('of a process that was frozen until after the deadline gets %s', async (_, answer, expected) => {
    // In a thread of its own, because the thread of the test is the one that freezes.
    const server = new Worker(
      `const { parentPort } = require('node:worker_threads');
      require('node:http').createServer((request, response) => {
        parentPort.postMessage('received');
        setTimeout(() => ${answer}, 100);
      }).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });`,
      { eval: true },
    );
    const [port] = await once(server, 'message');
    const attempt = sender({ timeoutMs: CONNECTED_TIMEOUT_MS }).send(webhook(`http://127.0.0.1:${port}/hook`));
    await once(server, 'message');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CONNECTED_TIMEOUT_MS + 1500);
    expect(await attempt).toMatchObject(expected);
    await server.terminate();
  });

  test('of a process that was frozen while it connected is not sent after the deadline', async () => {
    const receiver = await startRecordingServer((_request, response) => response.end());
    const freeze = (): unknown =>
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CONNECTED_TIMEOUT_MS + 1500);
    const lookup: LookupFunction = (_name, _options, callback) =>
      // The kernel completes the connection meanwhile. Its event comes before the end of the attempt.
      stat('/', () => {
        callback(null, [{ address: '127.0.0.1', family: 4 }]);
        freeze();
      });
    const { send } = sender({ timeoutMs: CONNECTED_TIMEOUT_MS, lookup });
    const attempt = await send(webhook(`http://hook.example:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: null, error: 'timeout' });
    await expectClosed(receiver.sockets[0]);
    expect(receiver.received).toEqual([]);
  });

  test('does not send to a name with an internal address, and shows the seller the error of an unknown name', async () => {
    const receiver = await startRecordingServer((_request, response) => response.end());
    const { send } = sender({
      policy: { allowPrivate: false, allowHttp: true },
      lookup: lookupReturning(['127.0.0.1']),
    });
    const attempt = await send(webhook(`http://inwards.example:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'dns', address: null });
    expect(attempt.errorDetail).toBe('the host name does not lead to a public address');
    expect(attempt.operatorDetail).toBe('the host name leads to an address that is not public');
    expect(receiver.sockets).toHaveLength(0);
  });

  test('delivers to one receiver while fifty attempts wait for another', async () => {
    const waiting: ServerResponse[] = [];
    const slow = await startRecordingServer((_request, response) => void waiting.push(response));
    const quick = await startRecordingServer((_request, response) => response.end());
    const { send } = sender();
    let ended = 0;
    const attempts = Array.from({ length: 50 }, () =>
      send(webhook(`http://127.0.0.1:${slow.port}/`)).finally(() => ended++),
    );
    const attempt = await send(webhook(`http://127.0.0.1:${quick.port}/`));
    expect([attempt.outcome, ended]).toEqual(['delivered', 0]);
    await until(() => waiting.length === 50, 'all attempts have reached the slow receiver');
    for (const response of waiting) response.end();
    expect((await Promise.all(attempts)).map(({ outcome }) => outcome)).toEqual(Array(50).fill('delivered'));
  });
});
