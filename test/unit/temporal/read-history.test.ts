import { defaultPayloadConverter } from '@temporalio/common';
import { type temporal } from '@temporalio/proto';
import {
  closeReason,
  lastSaved,
  previousRun,
  taskFailure,
  unprocessedRequests,
  waitsForPostgres,
} from '../../../src/temporal/read-history';

type Event = temporal.api.history.v1.IHistoryEvent;

const payloads = (value: unknown) => ({ payloads: [defaultPayloadConverter.toPayload(value)] });
const signaled = (signalName: string, input: Event['workflowExecutionSignaledEventAttributes']): Event => ({
  workflowExecutionSignaledEventAttributes: { ...input, signalName },
});
const signal = (name: string, input: unknown) => signaled(name, { input: payloads(input) });
const started = (input: unknown): Event => ({ workflowExecutionStartedEventAttributes: { input: payloads(input) } });
const marker = (summary: string, result?: unknown): Event => ({
  markerRecordedEventAttributes: result === undefined ? {} : { details: { result: payloads(result) } },
  userMetadata: { summary: defaultPayloadConverter.toPayload(summary) },
});
const saved = (...events: string[]) => marker('save', { history: { changes: events.map((event) => ({ event })) } });
const taskCompleted: Event = { workflowTaskCompletedEventAttributes: {} };

const unprocessedOf = (events: readonly Event[]) => unprocessedRequests(events, lastSaved(events), previousRun(events));

const cancel = { event: 'cancel', actor: 'operator', channel: 'temporal', reason: 'fraud', observedVersion: 0 };
const approved = { event: 'approved', actor: 'checkout', channel: 'temporal', reason: null, observedVersion: 0 };

test('a request is unprocessed until its change is saved, however many workflow tasks have completed', () => {
  const events = [started({ orderId: 'a' }), saved('created'), signal('cancel', { reason: 'fraud' }), taskCompleted];
  expect(unprocessedOf([...events, taskCompleted])).toEqual([cancel]);
  expect(unprocessedOf([...events, saved('created', 'cancel')])).toEqual([]);
});

test('a refused request is not handed over, and a later one for the same event is', () => {
  const completed = signal('customerProgress', { event: 'completed' });
  const refused = [started({ orderId: 'a' }), saved('created'), completed, marker('refused: completed', true)];
  expect(unprocessedOf(refused)).toEqual([]);
  expect(unprocessedOf([...refused, completed]).map(({ event }) => event)).toEqual(['completed']);
});

test('a refusal that Postgres has not recorded is unprocessed', () => {
  const failed: Event = {
    ...marker('refused: cancel'),
    markerRecordedEventAttributes: { failure: { message: 'down' } },
  };
  const events = [started({ orderId: 'a' }), saved('created'), signal('cancel', { reason: 'fraud' }), failed];
  expect(unprocessedOf(events)).toEqual([cancel]);
});

test('a run passes on its own requests and those of the run before it, as long as it has not processed them', () => {
  const previous = { saved: null, unprocessed: [approved], reason: 'terminated', channel: 'sweep' };
  const events = [started({ orderId: 'a', previous }), signal('cancel', { reason: 'fraud' }), taskCompleted];
  expect(unprocessedOf(events)).toEqual([approved, cancel]);
  expect(unprocessedOf([...events, saved('created', 'approved')])).toEqual([cancel]);
});

test('a run waits for Postgres from the timer of the SDK, which has no summary, until the workflow task after it', () => {
  const waits: Event = { timerStartedEventAttributes: { timerId: '7' } };
  const fired: Event = { timerFiredEventAttributes: { timerId: '7' } };
  const own: Event = { ...waits, userMetadata: { summary: defaultPayloadConverter.toPayload('webhook 1') } };
  const isWaiting = (...events: Event[]) => waitsForPostgres([started({ orderId: 'a' }), taskCompleted, ...events]);
  expect(isWaiting(own)).toBe(false);
  expect(isWaiting(waits, taskCompleted)).toBe(true);
  expect(isWaiting(waits, fired)).toBe(true);
  expect(isWaiting(waits, fired, taskCompleted)).toBe(false);
});

test('of equal requests in a row, the first counts', () => {
  const events = Array.from({ length: 1000 }, (_, index) => signal('cancel', { reason: index ? 'other' : 'fraud' }));
  expect(unprocessedOf([started({ orderId: 'a' }), ...events])).toEqual([cancel]);
});

test('a request that came too early and again counts both times, and of a flood, the first hundred and the first cancel', () => {
  const progress = (...names: string[]) => names.map((event) => signal('customerProgress', { event }));
  const eventsOf = (events: readonly Event[]) =>
    unprocessedOf([started({ orderId: 'a' }), ...events]).map(({ event }) => event);
  const names = ['completed', 'approved', 'completed'];
  expect(eventsOf(progress(...names))).toEqual(names);
  const flood = [...Array.from({ length: 100 }, () => progress(...names)).flat(), signal('cancel', {})];
  expect(eventsOf(flood)).toEqual([...eventsOf(flood).slice(0, 100), 'cancel']);
  expect(eventsOf(flood)).toHaveLength(101);
});

test('a request whose input cannot be read is kept, and so is one that names no event, for its refusal', () => {
  const input = { payloads: [{ metadata: { encoding: Buffer.from('binary/unknown') }, data: Buffer.from('x') }] };
  const events = [
    signal('customerProgress', { event: 'shipped' }),
    signal('resendWebhooks', undefined),
    signaled('cancel', { input }),
  ];
  expect(unprocessedOf([started({ orderId: 'a' }), ...events])).toEqual([
    { ...approved, event: 'no event: "shipped"' },
    { ...cancel, reason: null },
  ]);
});

test('a cancellation request is a cancel', () => {
  const requested: Event = { workflowExecutionCancelRequestedEventAttributes: {} };
  const [request, ...others] = unprocessedOf([started({ orderId: 'a' }), requested]);
  expect([request, others]).toEqual([{ ...cancel, reason: 'cancellation requested in Temporal' }, []]);
});

test('why a run closed or is stuck contains no character that Postgres refuses, whatever an operator entered', () => {
  const text = `fraud\0${'x'.repeat(293)}\u{1f4a5}`;
  const stored = `fraud\ufffd${'x'.repeat(293)}\ufffd`;
  expect(closeReason([{ workflowExecutionTerminatedEventAttributes: { reason: text } }])).toBe(
    `it was terminated: ${stored}`,
  );
  expect(closeReason([{ workflowExecutionFailedEventAttributes: { failure: { message: text } } }])).toBe(
    `it failed: ${stored}`,
  );
  expect(taskFailure([{ workflowTaskFailedEventAttributes: { failure: { message: text } } }])).toBe(`: ${stored}`);
});
