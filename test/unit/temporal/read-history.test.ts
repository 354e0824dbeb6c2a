import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { unprocessedRequests } from '../../../src/temporal/read-history';

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

test('of several requests for one event, the first counts', () => {
  const events = Array.from({ length: 1000 }, (_, index) => signal('cancel', { reason: index ? 'other' : 'fraud' }));
  expect(unprocessedRequests([started({ orderId: 'a' }), ...events])).toEqual([cancel]);
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
