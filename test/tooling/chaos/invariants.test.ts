import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { EventFacts, OrderFacts, PaymentFacts } from '../../chaos/facts';
import { type Allowances, brokenInvariants } from '../../chaos/invariants';
import { type Answer, createLedger, type OrderRecord } from '../../chaos/ledger';
import type { Received } from '../../chaos/receiver';

const ID = 'order-1';
const SHOWN = { id: ID, reference: 'ref', amount: 1 };
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(24, 'secret').toString('base64')}`;
const STATUSES = ['PENDING', 'APPROVED', 'SUCCESSFUL'];

/**
 * An order that three calls have completed, one second each, with all of its webhooks delivered and the last one
 * resent.
 */
function completedOrder(): { record: OrderRecord; order: OrderFacts } {
  const now = Date.now();
  const answers = ['create', 'signup_started', 'approved', 'completed', 'read', 'resend'].map((kind, index) => ({
    ...{ kind: kind as Answer['kind'], status: { create: 201, resend: 202 }[kind] ?? 200 },
    ...{ startedAt: index * 1000, endedAt: index * 1000 + 500 },
    ...(kind !== 'resend' && { order: { ...SHOWN, status: ['CREATED', ...STATUSES][index] ?? 'SUCCESSFUL' } }),
    ...(kind === 'read' && { version: 4 }),
  }));
  const changes = ['created', 'signup_started', 'approved', 'completed'].map((event, index) => ({
    ...{ version: index + 1, event },
    ...{ from: ['CREATED', ...STATUSES][index - 1] ?? null, to: ['CREATED', ...STATUSES][index]! },
  }));
  const events: EventFacts[] = STATUSES.map((status, index) => ({
    ...{ id: `event-${index + 1}`, sequence: index + 1, state: 'delivered' },
    body: JSON.stringify({ data: { sequence: index + 1, order: { status } } }),
    attempts: [{ attempt: 1, step: 1, status: 200, at: now }],
  }));
  events[2]!.attempts.push({ attempt: 2, step: null, status: 200, at: now + 5500 });
  const received = events.flatMap(({ id, sequence, body, attempts }) =>
    attempts.map(({ at }) => ({
      ...{ order: ID, sequence, id, path: '/steady', at, status: 200, closedAt: at + 1 },
      timestamp: String(Math.floor(at / 1000)),
      signature: new Webhook(WEBHOOK_SECRET).sign(id, new Date(at), body),
      digest: createHash('sha256').update(body).digest('base64url'),
    })),
  );
  return {
    record: {
      ...{ sellerId: 'seller', reference: 'ref', amount: 1, webhookUrl: 'http://127.0.0.1/steady' },
      webhookSecret: WEBHOOK_SECRET,
      ...{ ids: new Set([ID]), answers, isCleanedUp: false, resent: true },
      resends: [{ webhookId: 'event-3', requestedAt: now + 5000 }],
    },
    order: {
      ...{ id: ID, sellerId: 'seller', reference: 'ref', amountPence: 100 },
      ...{ version: 4, status: 'SUCCESSFUL', cancelledAt: null, changes, events, received },
      ...{ payments: [], hasAgreed: false, isBehind: false },
      runs: [{ runId: 'run', status: 'COMPLETED', result: { version: 4, status: 'SUCCESSFUL', cancelledAt: null } }],
    },
  };
}

const factsOf = (order: OrderFacts, ...withoutRow: string[]) => ({
  orders: new Map([[ID, order]]),
  withoutRow: new Set(withoutRow),
});

function faultsOf({ record, order }: ReturnType<typeof completedOrder>, allowed?: Allowances): string[] {
  const ledger = { ...createLedger(), orders: [record] };
  return brokenInvariants(ledger, factsOf(order), allowed).map(({ fault }) => fault);
}

const answerOf = ({ record }: ReturnType<typeof completedOrder>, kind: Answer['kind']): Answer =>
  record.answers.find((answer) => answer.kind === kind)!;

test('a completed order breaks no invariant', () => {
  expect(faultsOf(completedOrder())).toEqual([]);
});

test.each<[string, (scene: ReturnType<typeof completedOrder>) => void]>([
  [
    'cancel was refused without a reason',
    ({ record }) => record.answers.push({ kind: 'cancel', status: 409, startedAt: 2600, endedAt: 2900 }),
  ],
  [
    'read answered APPROVED too late; read answered version 3 after version 4',
    (scene) => scene.record.answers.push(readOf(3)),
  ],
  [
    'read answered UNSUCCESSFUL, which was not saved as version 4',
    (scene) => (answerOf(scene, 'read').order!.status = 'UNSUCCESSFUL'),
  ],
  [
    'page answered UNSUCCESSFUL, which was not saved',
    ({ record }) =>
      record.answers.push({
        kind: 'page',
        status: 200,
        startedAt: 6000,
        endedAt: 6100,
        order: { status: 'UNSUCCESSFUL' },
      }),
  ],
  ['read answered another order: order-2, ref, 1', (scene) => (answerOf(scene, 'read').order!.id = 'order-2')],
  ['approved answered another order: order-1, ref, 2', (scene) => (answerOf(scene, 'approved').order!.amount = 2)],
  [
    'run earlier is FAILED: TypeError',
    ({ order }) => order.runs.unshift({ runId: 'earlier', status: 'FAILED', failure: 'TypeError' }),
  ],
  ['webhook 2 came with another body than the stored one', ({ order }) => (order.received[1]!.digest = 'another')],
  ['webhook 2 was sent to /slow', ({ order }) => (order.received[1]!.path = '/slow')],
  [
    'webhook 2 is not stored, or has no valid signature',
    ({ order }) => (order.received[1]!.signature = order.received[0]!.signature),
  ],
  [
    'webhook 4 is not stored, or has no valid signature',
    ({ order }) => order.received.push({ ...order.received[3]!, id: 'event-4', sequence: 4 }),
  ],
  ['webhook 1 is disabled', ({ order }) => (order.events[0]!.state = 'disabled')],
  ['an acknowledged resend of webhook 3 was not made', ({ order }) => order.events[2]!.attempts.pop()],
  ['stuck: changes are refused, because the row lacks some', ({ order }) => (order.isBehind = true)],
  ['the customer has paid 2 times', ({ order }) => order.payments.push(payment('paid'), payment('paid'))],
  [
    'a payment is cancelled, and the bank keeps the money',
    ({ order }) => order.payments.push(payment('paid'), { ...payment('cancelled'), isKept: true }),
  ],
  [
    'stuck: a payment is not closed',
    ({ order }) => order.payments.push(payment('paid'), { ...payment('pending'), isClosed: false }),
  ],
  ['nobody has paid for a complete order', ({ order }) => order.payments.push(payment('refunded'))],
])('the harness finds: %s', (fault, breakIt) => {
  const scene = completedOrder();
  breakIt(scene);
  expect(faultsOf(scene)).toEqual(fault.split('; '));
});

test.each([
  ['another seller', { sellerId: 'another' }],
  ['another reference', { reference: 'another' }],
  ['an unknown order', { id: 'order-2' }],
])('the harness finds a list with %s', (_what, change) => {
  const { record, order } = completedOrder();
  const ledger = { ...createLedger(), orders: [record], listed: [{ sellerId: 'seller', ...SHOWN, ...change }] };
  expect(brokenInvariants(ledger, factsOf(order))).toEqual([
    { orderId: ledger.listed[0]!.id, fault: expect.stringMatching(/^a list of seller/) },
  ]);
});

/** An order whose first webhook is sent twice: the receiver answers the first call with this status. */
function repeated(status: number, afterMs: number): ReturnType<typeof completedOrder> {
  const scene = completedOrder();
  const { record, order } = scene;
  Object.assign(record, { resent: false, resends: [] });
  order.events[2]!.attempts.pop();
  order.received.pop();
  const [first] = order.received as [Received];
  order.received.unshift({ ...first, at: first.at - afterMs, closedAt: first.at - afterMs, status, retryAfterS: 1 });
  const [attempt] = order.events[0]!.attempts as [EventFacts['attempts'][0]];
  order.events[0]!.attempts = [
    { ...attempt, status },
    { ...attempt, attempt: 2, step: 2 },
  ];
  return scene;
}

test.each([
  [429, 1000, []],
  [429, 900, ['webhook 1 was sent again after 900 ms instead of 1000 ms']],
  [410, 1000, [1, 2, 3].map((sequence) => `webhook ${sequence} was sent after a 410`)],
])('for a webhook that is answered %d and sent again after %d ms, the harness finds %j', (status, afterMs, faults) => {
  expect(faultsOf(repeated(status, afterMs))).toEqual(faults);
});

test.each([
  ['no answer', [], undefined],
  ['an older state', [], { version: 3, status: 'APPROVED', cancelledAt: null }],
  ['the state of the row', [], { version: 4, status: 'SUCCESSFUL', cancelledAt: null }],
  ['a newer state', ['differs'], { version: 5, status: 'SUCCESSFUL', cancelledAt: null }],
  ['another state', ['differs'], { version: 4, status: 'UNSUCCESSFUL', cancelledAt: null }],
])('for a terminated run of a closed order with %s, the harness finds %j', (_what, faults, result) => {
  const scene = completedOrder();
  scene.order.runs = [{ runId: 'run', status: 'TERMINATED', result }];
  expect(faultsOf(scene)).toEqual(faults.map((fault) => expect.stringContaining(fault)));
  const completed = { runId: 'run', status: 'COMPLETED', result };
  scene.order.runs = [completed];
  expect(faultsOf(scene)).toHaveLength(result?.version === 4 && result.status === 'SUCCESSFUL' ? 0 : 1);
});

test.each([
  ['RowChanged', 3, {}, []],
  ['RowChanged', 4, {}, ['4 of its runs were replaced']],
  ['TERMINATED', 1, { sparesRuns: true }, ['runs of 1 of 1 orders were replaced']],
  ['TERMINATED', 2, { sparesRuns: true }, ['runs of 1 of 1 orders were replaced', '2 of its runs were replaced']],
  ['TERMINATED', 4, { operators: true }, []],
])('for %s, %d times, with the allowances %j, the harness finds %j', (end, times, allowed, faults) => {
  const scene = completedOrder();
  const run = end === 'TERMINATED' ? { status: end } : { status: 'FAILED', failure: end };
  scene.order.runs.unshift(...Array.from({ length: times }, (_, index) => ({ runId: `run-${index}`, ...run })));
  expect(faultsOf(scene, allowed)).toEqual(faults);
});

const payment = (status: string): PaymentFacts => ({ status, isClosed: true, isKept: status === 'paid' });

function readOf(version: number): Answer {
  return {
    kind: 'read',
    status: 200,
    startedAt: 6000,
    endedAt: 6500,
    order: { ...SHOWN, status: STATUSES[version - 2]! },
    version,
  };
}
