import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { unprocessedRequests, waitsForPostgres } from '../../../src/temporal/read-history';

type Event = temporal.api.history.v1.IHistoryEvent;

const payloads = (value: unknown) => ({ payloads: [defaultPayloadConverter.toPayload(value)] });
const signaled = (signalName: string, input: Event['workflowExecutionSignaledEventAttributes']): Event => ({
  workflowExecutionSignaledEventAttributes: { ...input, signalName },
});
const signal = (name: string, input: unknown) => signaled(name, { input: payloads(input) });
const started = (input: unknown): Event => ({ workflowExecutionStartedEventAttributes: { input: payloads(input) } });
const rowRead: Event = {
  markerRecordedEventAttributes: { details: { result: payloads({ history: { changes: [] } }) } },
};
const taskCompleted: Event = { workflowTaskCompletedEventAttributes: {} };

const cancel = { event: 'cancel', actor: 'operator', channel: 'temporal', reason: 'fraud', observedVersion: 0 };
const approved = { event: 'approved', actor: 'checkout', channel: 'temporal', reason: null, observedVersion: 0 };

test('a request is processed once a workflow task has completed after it', () => {
  const before = signal('cancel', { reason: 'fraud' });
  const after = signal('customerProgress', { event: 'approved' });
  expect(unprocessedRequests([started({ orderId: 'a' }), rowRead, before, taskCompleted, after])).toEqual([approved]);
});

test('a run that has not read the row passes on its own requests and those of the run before it', () => {
  const previous = { saved: null, unprocessed: [approved], reason: 'terminated', channel: 'sweep' };
  const events = [started({ orderId: 'a', previous }), signal('cancel', { reason: 'fraud' }), taskCompleted];
  expect(unprocessedRequests(events)).toEqual([approved, cancel]);
  expect(unprocessedRequests([...events, rowRead, taskCompleted])).toEqual([]);
});

describe('a request after which the run waits to repeat its save, because Postgres has failed', () => {
  // The fourth event is the workflow task that began the wait.
  const waits: Event = temporal.api.history.v1.HistoryEvent.fromObject({
    timerStartedEventAttributes: { timerId: '7', workflowTaskCompletedEventId: 4 },
  });
  const before = [started({ orderId: 'a' }), rowRead, signal('cancel', { reason: 'fraud' }), taskCompleted];

  test('is unprocessed, until the workflow task that ends the wait', () => {
    const events = [...before, waits, taskCompleted];
    expect([unprocessedRequests(events), waitsForPostgres(events)]).toEqual([[cancel], true]);
    const fired: Event = { timerFiredEventAttributes: { timerId: '7' } };
    expect([unprocessedRequests([...events, fired]), waitsForPostgres([...events, fired])]).toEqual([[cancel], false]);
    expect(unprocessedRequests([...events, fired, taskCompleted])).toEqual([]);
  });

  test('is processed if the timer is one of the workflow, which has a summary', () => {
    const events = [
      ...before,
      { timerStartedEventAttributes: waits.timerStartedEventAttributes!, userMetadata: { summary: {} } },
      taskCompleted,
    ];
    expect([unprocessedRequests(events), waitsForPostgres(events)]).toEqual([[], false]);
  });
});

test('of equal requests in a row, the first counts', () => {
  const events = Array.from({ length: 1000 }, (_, index) => signal('cancel', { reason: index ? 'other' : 'fraud' }));
  expect(unprocessedRequests([started({ orderId: 'a' }), ...events])).toEqual([cancel]);
});

test('a request that came too early and again counts both times, and there are no more than a hundred', () => {
  const progress = (...names: string[]) => names.map((event) => signal('customerProgress', { event }));
  const eventsOf = (events: readonly Event[]) =>
    unprocessedRequests([started({ orderId: 'a' }), ...events]).map(({ event }) => event);
  const names = ['completed', 'approved', 'completed'];
  expect(eventsOf(progress(...names))).toEqual(names);
  expect(eventsOf(Array.from({ length: 100 }, () => progress(...names)).flat())).toHaveLength(100);
});

test('a request that no workflow accepts is dropped, and one whose input cannot be read is kept', () => {
  const input = { payloads: [{ metadata: { encoding: Buffer.from('binary/unknown') }, data: Buffer.from('x') }] };
  const events = [
    signal('customerProgress', { event: 'shipped' }),
    signal('resendWebhooks', undefined),
    signaled('cancel', { input }),
  ];
  expect(unprocessedRequests([started({ orderId: 'a' }), ...events])).toEqual([{ ...cancel, reason: null }]);
});

test('a cancellation request is a cancel', () => {
  const requested: Event = { workflowExecutionCancelRequestedEventAttributes: {} };
  const [request, ...others] = unprocessedRequests([started({ orderId: 'a' }), requested]);
  expect([request, others]).toEqual([{ ...cancel, reason: 'cancellation requested in Temporal' }, []]);
});
