import type { RequestedResend, WebhookResult } from '../../../activities';
import { DeliveryQueue } from '../../../workflows/delivery-queue';
import type { LoopScheduler } from '../../../workflows/loop-scheduler';

const HOUR = 3_600_000;

/** The webhooks whose attempts were made, and the waits in ms, in their order. */
let log: (string | number)[];
/** The results of attempts; by default, the endpoint's breaker makes them wait. */
let results: Record<string, WebhookResult>;
/** What a delivery attempt does before the endpoint's breaker makes it wait. */
let onAttempt: Record<string, () => void>;

function mockAttempt(id: string): Promise<WebhookResult> {
  log.push(id);
  onAttempt[id]?.();
  return Promise.resolve(results[id] ?? { state: 'waiting', waitMs: HOUR, reason: 'silent' });
}
jest.mock('@temporalio/workflow', () => ({
  proxyActivities: () => ({
    sendWebhook: ({ eventId }: { eventId: string }) => mockAttempt(eventId),
    resendWebhook: (id: string) => mockAttempt(id),
  }),
}));

const scheduler = {
  runCommand: (_loop: unknown, command: () => Promise<unknown>) => command(),
  waitUntil: (_loop: unknown, _isMet: unknown, timer: { ms: number }) => {
    log.push(Math.round(timer.ms / HOUR) * HOUR);
    return Promise.resolve();
  },
} as unknown as LoopScheduler;

const SCHEDULED = { id: 'scheduled', sequence: 1, attempts: 0, waitMs: null, waitWithSuccessorMs: null };
const resend = (id: string, isUrgent: boolean): RequestedResend => ({ id, sequence: 2, isUrgent });
const URGENT = resend('urgent', true);

let queue: DeliveryQueue;
beforeEach(() => {
  log = [];
  onAttempt = {};
  results = {};
  queue = new DeliveryQueue(scheduler);
});

async function deliver(count: number): Promise<(string | number)[]> {
  for (let calls = 0; calls < count; calls += 1) await queue.deliverNext(() => false);
  return log;
}

test('an urgent resend that is requested during an attempt is not held up by the wait that the attempt begins', async () => {
  queue.add([{ ...SCHEDULED, yieldsToNext: false }]);
  onAttempt.scheduled = () => queue.addResends([URGENT]);
  expect(await deliver(2)).toEqual(['scheduled', 'urgent']);
});

test('an urgent resend overtakes one of the same order that waits', async () => {
  queue.addResends([resend('other', false)]);
  await deliver(1);
  queue.addResends([resend('other', false), URGENT]);
  expect(await deliver(1)).toEqual(['other', 'urgent']);
});

test('a resend that becomes urgent overtakes the others', async () => {
  queue.addResends([resend('other', false), resend('urgent', false)]);
  queue.addResends([resend('other', false), URGENT]);
  expect(await deliver(1)).toEqual(['urgent']);
});

test('urgent resends wait between two attempts', async () => {
  queue.addResends([URGENT, resend('urgent too', true)]);
  expect(await deliver(4)).toEqual(['urgent', HOUR, 'urgent', HOUR]);
});

test('a resend of a webhook that Postgres does not hold has the row brought forward', async () => {
  queue.addResends([URGENT]);
  results.urgent = { state: 'missing' };
  expect(await queue.deliverNext(() => false)).toBe(false);
});

test('after a 410 on a resend, the webhooks that it has disabled do not wait for their next attempts', async () => {
  const later = { attempts: 2, waitMs: HOUR, waitWithSuccessorMs: HOUR, yieldsToNext: false };
  queue.add([
    { id: 'second', sequence: 2, ...later },
    { id: 'third', sequence: 3, ...later },
  ]);
  queue.addResends([URGENT]);
  const disabled = { state: 'disabled', webhooksDisabled: true } as const;
  results = { urgent: disabled, second: disabled, third: disabled };
  expect(await deliver(3)).toEqual(['urgent', 'second', 'third']);
  expect(queue.isEmpty).toBe(true);
});

test('a failed resend of a disabled webhook leaves the next attempts of the others where they are', async () => {
  const later = { attempts: 2, waitMs: HOUR, waitWithSuccessorMs: HOUR, yieldsToNext: false };
  queue.add([{ id: 'second', sequence: 2, ...later }]);
  queue.addResends([URGENT]);
  results = { urgent: { state: 'disabled', webhooksDisabled: false, lastError: 'HTTP 500' } };
  expect(await deliver(1)).toEqual(['urgent']);
  expect(queue.describe()).toMatch(/^webhook 2: attempt 3 at /);
  expect(queue.describe()).not.toContain('disabled');
});

test('a skipped resend of a disabled webhook is no 410 if the webhooks of its order are enabled again', async () => {
  const later = { attempts: 2, waitMs: HOUR, waitWithSuccessorMs: HOUR, yieldsToNext: false };
  queue.add([{ id: 'third', sequence: 3, ...later }]);
  queue.addResends([URGENT]);
  onAttempt.urgent = () => {
    onAttempt = {};
    queue.addResends([URGENT]);
    results = { urgent: { state: 'disabled', webhooksDisabled: false, lastError: 'HTTP 500' } };
  };
  await deliver(1);
  results = { urgent: { state: 'disabled', webhooksDisabled: false } };
  expect(await deliver(1)).toEqual(['urgent', 'urgent']);
  expect(queue.describe()).toMatch(/^webhook 3: attempt 3 at /);
  expect(queue.describe()).not.toContain('disabled');
});
