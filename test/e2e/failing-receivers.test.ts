import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Api } from '../support/api';
import { apiOf } from '../support/api';
import { LATE_MS, ROUNDING_MS, SLACK_MS, endOf, expectKind, expectOnSchedule, webhooksOf } from '../support/attempts';
import type { FailingReceiver } from '../support/failing-answers';
import { DELAYS, TIMEOUT_MS } from '../support/failing-answers';
import type { Kind } from '../support/failing-receivers';
import { KINDS, otherHost } from '../support/failing-receivers';
import { watchMemory } from '../support/memory';
import { openOrder } from '../support/orders';
import type { ServiceProcess } from '../support/processes';
import { killProcesses, startProcess } from '../support/processes';
import type { Receiver } from '../support/receiver';
import { startReceiver } from '../support/receiver';
import type { Stack } from '../support/stack';
import { createSeller, startStack } from '../support/stack';
import { until } from '../support/until';
import { stopReceivers } from '../unit/webhooks/receivers';

jest.setTimeout(90_000);

interface Trial extends FailingReceiver {
  kind: Kind;
  orderId: string;
}

let dataDir: string;
let stack: Stack;
let worker: ServiceProcess;
let live: { api: Api; receiver: Receiver };
let memory: ReturnType<typeof watchMemory>;
let slowestLiveMs: number;
const trials = new Map<string, Trial>();

/** Every kind of receiver side by side, each with a seller and an order of its own, and a live one among them. */
beforeAll(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-receivers-'));
  writeFileSync(path.join(dataDir, 'other-host.pem'), otherHost.cert);
  stack = await startStack({
    worker: false,
    env: { WEBHOOK_RETRY_DELAYS: DELAYS.join(','), WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS) },
  });
  worker = await startProcess('worker', {
    ...stack.env,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS!,
    TEMPORAL_NAMESPACE: stack.temporal.namespace!,
    NODE_EXTRA_CA_CERTS: path.join(dataDir, 'other-host.pem'),
  });
  live = { api: await apiOfNewSeller(), receiver: await startReceiver() };
  await sendLiveWebhook();
  memory = watchMemory(worker.pid);
  for (const [name, kind] of Object.entries(KINDS)) trials.set(name, await openTrial(kind));
  slowestLiveMs = await besideLiveWebhooks(`${trials.size} kinds of failing receivers`, () =>
    runTrials([...trials.values()]),
  );
});
afterAll(async () => {
  await killProcesses();
  await stack.stop();
  await live.receiver.stop();
  await stopReceivers();
  rmSync(dataDir, { recursive: true, force: true });
});

async function apiOfNewSeller(): Promise<Api> {
  return apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
}

async function openTrial(kind: Kind): Promise<Trial> {
  const receiver = await kind.start();
  const api = await apiOfNewSeller();
  return { ...receiver, kind, orderId: await openOrder({ ...stack, api }, { webhook_url: receiver.url }) };
}

/** Gives each order two webhooks, the second as a rule while the first is being tried, and waits until all are settled. */
async function runTrials(those: Trial[]): Promise<void> {
  await change(those, 'signup_started');
  const disabled = those.filter(({ kind }) => kind.state === 'disabled');
  // What is saved just when a 410 comes may be sent once.
  await settled(disabled);
  await change(those, 'failed');
  await settled(those);
}

async function change(those: Trial[], event: string): Promise<void> {
  const answers = await Promise.all(those.map(({ orderId }) => stack.api.progress(orderId, event)));
  expect(answers.map(({ status }) => status)).toEqual(those.map(() => 200));
}

async function settled(those: Trial[]): Promise<void> {
  const query = `select from webhook_event where state = 'pending' and order_id = any($1)`;
  const ids = those.map(({ orderId }) => orderId);
  await until(async () => (await stack.db.query(query, [ids])).rowCount === 0, 'all is settled', 60_000);
}

/** While the work goes on the live seller gets one webhook after the other; the longest that one took, in ms. */
async function besideLiveWebhooks(what: string, work: () => Promise<void>): Promise<number> {
  let working = true;
  const tookMs: number[] = [];
  const sendLive = async (): Promise<void> => {
    while (working) tookMs.push(await sendLiveWebhook());
  };
  await Promise.all([work().finally(() => (working = false)), sendLive()]);
  const slowest = Math.max(...tookMs);
  process.stdout.write(`beside ${what} ${tookMs.length} live webhooks came, the slowest after ${slowest} ms\n`);
  return slowest;
}

/** Milliseconds from the change of the order to its webhook. */
async function sendLiveWebhook(): Promise<number> {
  const id = await openOrder({ ...stack, api: live.api }, { webhook_url: live.receiver.url });
  const changedAt = Date.now();
  await live.api.progress(id, 'failed');
  const came = () => live.receiver.deliveries.find(({ body }) => body.data.order.id === id);
  return (await until(came, "the live seller's webhook came")).at - changedAt;
}

describe.each(Object.entries(KINDS))('a receiver that %s', (name, kind) => {
  const trial = (): Trial => trials.get(name)!;
  const webhooks = () => webhooksOf(stack.db, trial().orderId);
  const state = kind.state ?? 'exhausted';
  const count = kind.state ? 1 : DELAYS.length;

  test(`has its webhook ${state}, and each attempt on record: ${count}`, async () => {
    const [head] = await webhooks();
    expect(head!.event).toMatchObject({ state, attempts: count, next_attempt_at: null });
    expect(head!.attempts.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: count }, (_, index) => index + 1),
    );
    for (const attempt of head!.attempts) expectKind(attempt, kind);
  });

  test('is tried by the schedule, and not before it asked to be', async () => {
    const [head] = await webhooks();
    expectOnSchedule(head!.event, head!.attempts, trial().notBefore ?? []);
  });

  test('hears of the next webhook only after that, if it still wants any', async () => {
    const [head, next] = await webhooks();
    if (kind.state === 'disabled') {
      expect(next).toMatchObject({ event: { state: 'disabled', attempts: 0 }, attempts: [] });
      return;
    }
    const fate = kind.unconnected ? { state, attempts: count } : { state: 'delivered', attempts: 1 };
    expect(next!.event).toMatchObject({ sequence: 2, ...fate, next_attempt_at: null });
    expect(next!.attempts).toHaveLength(fate.attempts);
    expect(next!.attempts[0]!.at.getTime()).toBeGreaterThanOrEqual(endOf(head!.attempts.at(-1)!) - ROUNDING_MS);
  });

  test('has seen what is recorded, one connection an attempt, and no more', async () => {
    const { receiver, bystander } = trial();
    expect(bystander?.connectedAt ?? []).toEqual([]);
    if (!receiver) return;
    const sent = (await webhooks()).flatMap(({ event, attempts }) =>
      attempts.map((attempt) => ({ event, ...attempt })),
    );
    expect(receiver.connectedAt).toHaveLength(sent.length);
    for (const [index, attempt] of sent.entries()) {
      expect(receiver.connectedAt[index]).toBeGreaterThanOrEqual(attempt.at.getTime() - ROUNDING_MS);
      expect(receiver.connectedAt[index]).toBeLessThan(endOf(attempt) + SLACK_MS);
    }
    expect(receiver.received.map(({ headers }) => [headers['webhook-id'], headers['webhook-timestamp']])).toEqual(
      kind.unconnected ? [] : sent.map(({ event, at }) => [event.id, String(Math.floor(at.getTime() / 1000))]),
    );
    await until(() => receiver.sockets.every(({ destroyed }) => destroyed), 'the worker has hung up');
    // What it did not read is in the kernel's buffers.
    for (const { bytesWritten } of receiver.sockets) expect(bytesWritten).toBeLessThan(16 * 1024 * 1024);
  });
});

test('a live webhook among them all comes promptly', () => {
  expect(slowestLiveMs).toBeLessThan(LATE_MS);
});

test('twenty receivers that send as much as they can take little memory of the worker, and hold up no one', async () => {
  const kinds = Object.values(KINDS).filter(({ floods }) => floods);
  const floods = await Promise.all(Array.from({ length: 20 }, (_, index) => openTrial(kinds[index % kinds.length]!)));
  expect(await besideLiveWebhooks('twenty floods', () => runTrials(floods))).toBeLessThan(LATE_MS);
  const sent = (await Promise.all(floods.map(({ orderId }) => webhooksOf(stack.db, orderId)))).flat();
  // Of four kinds three fail all attempts at the first webhook; all else gets through at once.
  expect(sent.flatMap(({ attempts }) => attempts)).toHaveLength(15 * DELAYS.length + 5 + 20);
  const { before, peak } = memory.read();
  process.stdout.write(`the worker had ${before} MB resident, and ${peak} MB at its peak\n`);
  expect(peak - before).toBeLessThan(200);
});

test('after all that the worker has nothing to complain of, and leaves when it is asked to', async () => {
  await worker.signal('SIGTERM');
  expect(worker.exitCode()).toBe(0);
  expect(worker.lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
});
