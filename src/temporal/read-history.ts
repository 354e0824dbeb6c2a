import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { cancelSignal, customerProgressSignal } from '../../workflows/messages';
import type { PreviousRun, WorkflowHistory } from '../domain/order';
import { RECOVERY_REASONS } from '../domain/recovery-reason';
import { type UncheckedRequest, isOrderEvent, toCancel, toNativeCancel, toProgress } from '../domain/unchecked-request';

type Event = temporal.api.history.v1.IHistoryEvent;
type Payloads = temporal.api.common.v1.IPayloads | null | undefined;

const MAX_REASON_LENGTH = 300;

function decode(payloads: Payloads): unknown {
  const payload = payloads?.payloads?.[0];
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}

/**
 * The order as a run last saved it or read it from the row. The input of a first start is saved too. A save and a read are
 * local activities, which leave a marker with their result.
 */
export function lastSaved(events: readonly Event[]): WorkflowHistory | undefined {
  let saved: WorkflowHistory | undefined;
  for (const { workflowExecutionStartedEventAttributes: started, markerRecordedEventAttributes: marker } of events) {
    const { history } = (decode(started?.input ?? marker?.details?.result) ?? {}) as { history?: WorkflowHistory };
    saved = history ?? saved;
  }
  return saved;
}

/** The run that this one follows. A run that closes before it has read the row passes on what it knows of it. */
export function previousRun(events: readonly Event[]): PreviousRun | undefined {
  const { previous } = (decode(events[0]?.workflowExecutionStartedEventAttributes?.input) ?? {}) as {
    previous?: PreviousRun;
  };
  return previous;
}

/** How a run closed; null if it completed. */
export function closeReason(events: readonly Event[]): string | null {
  const last = events.at(-1);
  const terminated = last?.workflowExecutionTerminatedEventAttributes;
  if (terminated) return `${RECOVERY_REASONS.terminated}${explain(terminated.reason)}`;
  const failed = last?.workflowExecutionFailedEventAttributes;
  if (failed) return `${RECOVERY_REASONS.failed}${explain(failed.failure?.cause?.message ?? failed.failure?.message)}`;
  return last?.workflowExecutionCompletedEventAttributes ? null : RECOVERY_REASONS.timed_out;
}

/** Why a workflow task failed most recently. The server records the first failure in a row only. */
export function taskFailure(events: readonly Event[]): string {
  const failed = events.findLast(({ workflowTaskFailedEventAttributes }) => workflowTaskFailedEventAttributes);
  return explain(failed?.workflowTaskFailedEventAttributes?.failure?.message);
}

/**
 * The requests for a change that Temporal has accepted and the run has not processed: no workflow task has completed since,
 * or the run has never read the row. Of several for one event it has the first, as the workflow would, so that their number
 * is limited.
 */
export function unprocessedRequests(events: readonly Event[]): UncheckedRequest[] {
  const processed = lastSaved(events)
    ? events.findLastIndex(({ workflowTaskCompletedEventAttributes: completed }) => completed)
    : -1;
  const inherited = processed < 0 ? (previousRun(events)?.unprocessed ?? []) : [];
  const received = events.slice(processed + 1).flatMap((event) => toRequest(event) ?? []);
  const requests = [...inherited, ...received].filter(({ event }) => isOrderEvent(event));
  return requests.filter(({ event }, index) => requests.findIndex((request) => request.event === event) === index);
}

/** The change that an event requests; undefined if it requests none. */
function toRequest(event: Event): UncheckedRequest | undefined {
  if (event.workflowExecutionCancelRequestedEventAttributes) return toNativeCancel();
  const { signalName, input } = event.workflowExecutionSignaledEventAttributes ?? {};
  if (signalName === cancelSignal.name) return toCancel(decodeAny(input), 'temporal');
  if (signalName === customerProgressSignal.name) return toProgress(decodeAny(input), 'temporal');
  return undefined;
}

/** People can send a payload in an unknown encoding. The workflow reads it as undefined too. */
function decodeAny(payloads: Payloads): unknown {
  try {
    return decode(payloads);
  } catch {
    return undefined;
  }
}

function explain(text: string | null | undefined): string {
  return text ? `: ${text.slice(0, MAX_REASON_LENGTH)}` : '';
}
