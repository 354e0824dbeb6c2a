import { monitorEventLoopDelay } from 'node:perf_hooks';
import path from 'node:path';
import { type IsolatedSenderOptions, createIsolatedSender } from '../../../src/webhooks/isolated-sender';
import { type WebhookSender, createWebhookSender } from '../../../src/webhooks/send';
import { PACKAGE_ROOT } from '../../../src/package';
import { startRecordingTcpServer, stopRecordingServers } from '../../support/recording-server';
import { useReceiver } from '../../support/receiver';
import { until } from '../../support/until';
import { webhook } from '../../support/sending';
import { startFlood } from './flood';

let senders: WebhookSender[] = [];
afterEach(async () => {
  await Promise.all(senders.map((sender) => sender.close()));
  senders = [];
  await stopRecordingServers();
});

const receiver = useReceiver('test');
const errors: unknown[] = [];

function isolated(options: Partial<IsolatedSenderOptions> = {}): WebhookSender {
  errors.length = 0;
  const sender = createIsolatedSender({
    policy: { allowPrivate: true, allowHttp: true },
    timeoutMs: 15_000,
    concurrency: 100,
    onError: (error) => errors.push(error),
    ...options,
  });
  senders.push(sender);
  return sender;
}

/** A thread that dies or is stuck at the first attempt at a URL that contains `die` or `stick`. */
const faulty = path.join(PACKAGE_ROOT, 'dist/test/integration/webhooks/faulty-thread.js');

test('an attempt in the thread gives the same result as one without it', async () => {
  receiver.answerWith(() => 200);
  const policy = { allowPrivate: true, allowHttp: true };
  const direct = createWebhookSender({ policy, timeoutMs: 15_000 });
  senders.push(direct);
  const attempt = await direct.send(webhook(receiver.url));
  expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', error: null });
  const phases = { connectedMs: expect.any(Number), headersMs: expect.any(Number) };
  const expected = { ...attempt, durationMs: expect.any(Number), phases };
  expect(await isolated().send(webhook(receiver.url))).toEqual(expected);
  const [first, second] = receiver.deliveries.map(({ headers, text }) => ({ headers, text }));
  expect(second).toEqual(first);
});

test('ten receivers that flood at the same time do not delay the event loop of the process', async () => {
  const flood = await startFlood();
  const { send } = isolated();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const attempts = await Promise.all(Array.from({ length: 10 }, () => send(webhook(flood.url))));
  delay.disable();
  await flood.stop();
  expect(attempts.map(({ error }) => error)).toEqual(Array(10).fill('invalid_response'));
  // Without the thread, the loop ran three times at most. The maximum may be a stall of the machine.
  expect(delay.count).toBeGreaterThan(20);
  expect(delay.percentile(90) / 1e6).toBeLessThan(100);
});

test('if the thread dies, its attempts fail as interrupted, and the next one is sent', async () => {
  const silent = await startRecordingTcpServer(() => undefined);
  const { send } = isolated({ filename: faulty });
  const waiting = send(webhook(`http://127.0.0.1:${silent.port}/`));
  await until(() => silent.sockets.length === 1, 'the first attempt waits for its receiver');
  for (const attempt of await Promise.all([waiting, send(webhook(`${receiver.url}?die`))])) {
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'interrupted', retryAfterMs: null });
  }
  expect(errors).toMatchObject([{ message: 'a bug' }]);
  expect(await send(webhook(receiver.url))).toMatchObject({ outcome: 'delivered' });
});

test('a thread that exceeds its memory dies alone', async () => {
  const { send } = isolated({ filename: faulty });
  expect(await send(webhook(`${receiver.url}?fill`))).toMatchObject({ error: 'interrupted' });
  expect(errors[0]).toMatchObject({ code: 'ERR_WORKER_OUT_OF_MEMORY' });
  expect(await send(webhook(receiver.url))).toMatchObject({ outcome: 'delivered' });
});

test('if the thread is stuck, it is replaced', async () => {
  const { send } = isolated({ filename: faulty, timeoutMs: 3000, stuckAfterMs: 200 });
  expect(await send(webhook(`${receiver.url}?stick`))).toMatchObject({ error: 'interrupted' });
  // On a busy machine, a new thread may take longer than an attempt may.
  await until(async () => (await send(webhook(receiver.url))).outcome === 'delivered', 'the new thread sends');
});

test('close waits for the running attempts and accepts no further ones', async () => {
  receiver.answerWith(() => 200);
  const sender = isolated();
  const sending = sender.send(webhook(receiver.url));
  await sender.close();
  expect(await sending).toMatchObject({ outcome: 'delivered' });
  await expect(sender.send(webhook(receiver.url))).rejects.toThrow('closed');
});
