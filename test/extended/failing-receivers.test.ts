import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Api, apiOf } from '../support/api';
import { ROUNDING_MS, endOf, expectKind, expectOnSchedule, webhooksOf } from '../support/attempts';
import { type FailingReceiver, DELAYS, TIMEOUT_MS } from '../support/failing-responses';
import { type Kind, KINDS, otherHost } from '../support/failing-receivers';
import { watchMemory } from '../support/memory';
import { noWebhookPending, openOrder } from '../support/orders';
import { type ServiceProcess, killProcesses, startProcess } from '../support/processes';
import { useReceiver } from '../support/receiver';
import { createSeller, useStack } from '../support/stack';
import { until } from '../support/until';
import { stopRecordingServers } from '../support/recording-server';

jest.setTimeout(600_000);

interface Trial extends FailingReceiver {
  kind: Kind;
  orderId: string;
}

// The worker ends before the stack drops its database.
afterAll(killProcesses);
const stack = useStack({
  worker: false,
  env: {
    WEBHOOK_RETRY_DELAYS: DELAYS.join(','),
    WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS),
    WEBHOOK_BREAKER_MIN_WAIT_MS: '200',
    WEBHOOK_BREAKER_MAX_WAIT_MS: '200',
    UPDATE_TIMEOUT_MS: '60000',
  },
});
const receiver = useReceiver();
let dataDir: string;
let worker: ServiceProcess;
let liveApi: Api;
/** How many webhooks of a working receiver arrived while those of failing ones were pending. */
let liveBesideTrials: number;
const trials = new Map<string, Trial>();

/**
 * Runs every kind of failing receiver at the same time, each with its own seller and order, beside a working receiver.
 */
beforeAll(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-receivers-'));
  writeFileSync(path.join(dataDir, 'other-host.pem'), otherHost.cert);
  worker = await startProcess('worker', {
    ...stack.env,
    NODE_EXTRA_CA_CERTS: path.join(dataDir, 'other-host.pem'),
  });
  liveApi = await apiOfNewSeller();
  await sendLiveWebhook();
  for (const [name, kind] of Object.entries(KINDS)) trials.set(name, await openTrial(kind));
  liveBesideTrials = await besideLiveWebhooks(() => runTrials([...trials.values()]));
});
afterAll(async () => {
  await stopRecordingServers();
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

/**
 * Causes two webhooks per order, usually the second during the first one's attempts, and waits until none is pending.
 */
async function runTrials(group: Trial[]): Promise<void> {
  await change(group, 'signup_started');
  const disabled = group.filter(({ kind }) => kind.state === 'disabled');
  // A webhook that is saved while a 410 arrives may still be sent once.
  await settled(disabled);
  await change(group, 'failed');
  await settled(group);
}

/** One order after the other: on a slow machine, a burst of calls gets a 503. */
async function change(group: Trial[], event: string): Promise<void> {
  for (const { orderId } of group)
    await until(async () => (await stack.api.progress(orderId, event)).status === 200, `${event} is reported`);
}

async function settled(group: Trial[]): Promise<void> {
  const ids = group.map(({ orderId }) => orderId);
  await until(() => noWebhookPending(stack, ids), 'no webhook is pending', 300_000);
}

/**
 * Sends webhooks to the working receiver, one after the other, until `work` ends. Returns how many arrived before that.
 */
async function besideLiveWebhooks(work: () => Promise<void>): Promise<number> {
  let working = true;
  const sendLive = async (): Promise<number> => {
    for (let sent = 0; ; sent++) {
      await sendLiveWebhook();
      if (!working) return sent;
    }
  };
  const [, arrived] = await Promise.all([work().finally(() => (working = false)), sendLive()]);
  return arrived;
}

/** Changes an order of the working receiver, and waits until its webhook has arrived. */
async function sendLiveWebhook(): Promise<void> {
  const id = await openOrder({ ...stack, api: liveApi }, { webhook_url: receiver.url }, ['failed']);
  const delivery = () => receiver.deliveries.find(({ body }) => body.data.order.id === id);
  await until(delivery, 'the working receiver has got its webhook');
}

describe.each(Object.entries(KINDS))('a receiver that %s', (name, kind) => {
  const trial = (): Trial => trials.get(name)!;
  const webhooks = () => webhooksOf(stack.db, trial().orderId);
  const state = kind.state ?? 'exhausted';
  const count = kind.state ? 1 : DELAYS.length;

  test(`leaves its webhook ${state} after ${count} recorded ${count === 1 ? 'attempt' : 'attempts'}`, async () => {
    const [head] = await webhooks();
    expect(head!.event).toMatchObject({ state, attempts: count, next_attempt_at: null });
    expect(head!.attempts.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: count }, (_, index) => index + 1),
    );
    for (const attempt of head!.attempts) expectKind(attempt, kind);
  });

  test('gets its attempts on schedule and never before its Retry-After', async () => {
    const [head] = await webhooks();
    expectOnSchedule(head!.event, head!.attempts, trial().notBefore ?? []);
  });

  test('gets the next webhook only after the last attempt, and none after a 410', async () => {
    const [head, next] = await webhooks();
    if (kind.state === 'disabled') {
      expect(next).toMatchObject({ event: { state: 'disabled', attempts: 0 }, attempts: [] });
      return;
    }
    const outcome = kind.unconnected ? { state, attempts: count } : { state: 'delivered', attempts: 1 };
    expect(next!.event).toMatchObject({ sequence: 2, ...outcome, next_attempt_at: null });
    expect(next!.attempts).toHaveLength(outcome.attempts);
    expect(next!.attempts[0]!.at.getTime()).toBeGreaterThanOrEqual(endOf(head!.attempts.at(-1)!) - ROUNDING_MS);
  });

  test('sees one connection per recorded attempt and no other', async () => {
    const { receiver: failing, bystander } = trial();
    expect(bystander?.connectedAt ?? []).toEqual([]);
    if (!failing) return;
    const sent = (await webhooks()).flatMap(({ event, attempts }) =>
      attempts.map((attempt) => ({ event, ...attempt })),
    );
    expect(failing.connectedAt).toHaveLength(sent.length);
    for (const [index, attempt] of sent.entries()) {
      expect(failing.connectedAt[index]).toBeGreaterThanOrEqual(attempt.at.getTime() - ROUNDING_MS);
    }
    expect(failing.received.map(({ headers }) => [headers['webhook-id'], headers['webhook-timestamp']])).toEqual(
      kind.unconnected ? [] : sent.map(({ event, at }) => [event.id, String(Math.floor(at.getTime() / 1000))]),
    );
    await until(() => failing.sockets.every(({ destroyed }) => destroyed), 'the worker has closed its connections');
    // Bytes that the worker did not read are in the kernel's buffers.
    for (const { bytesWritten } of failing.sockets) expect(bytesWritten).toBeLessThan(16 * 1024 * 1024);
  });
});

// A webhook that waits for a receiver that never responds would arrive only after 40 s, and not be counted.
test('failing receivers do not hold up the webhooks of a working one', () => {
  expect(liveBesideTrials).toBeGreaterThan(0);
});

test('twenty endless responses use little memory of the worker', async () => {
  const kinds = Object.values(KINDS).filter(({ floods }) => floods);
  const floods = await Promise.all(Array.from({ length: 20 }, (_, index) => openTrial(kinds[index % kinds.length]!)));
  // The worker has grown to its usual size in the trials before.
  const memory = watchMemory(worker.pid);
  await besideLiveWebhooks(() => runTrials(floods));
  const sent = (await Promise.all(floods.map(({ orderId }) => webhooksOf(stack.db, orderId)))).flat();
  // Three of the four kinds fail all attempts at the first webhook. Every other webhook takes one attempt.
  expect(sent.flatMap(({ attempts }) => attempts)).toHaveLength(15 * DELAYS.length + 5 + 20);
  const { before, peak } = memory.read();
  process.stdout.write(`the worker had ${before} MB resident, and ${peak} MB at its peak\n`);
  expect(peak - before).toBeLessThan(200);
});

test('the worker has logged no error and exits with code 0 on SIGTERM', async () => {
  await worker.signal('SIGTERM');
  expect(worker.exitCode()).toBe(0);
  expect(worker.lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
});
