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

/** Enough for every change of an order, and few enough for the input of a run. */
const MAX_UNPROCESSED = 100;

/**
 * The requests for a change that Temporal has accepted and the run has not processed: since the last workflow task that left
 * nothing to be repeated, or ever if the run has not read the row. One that it has carried out already does no harm: it is a
 * repeat then. Of equal ones in a row it has the first.
 */
export function unprocessedRequests(events: readonly Event[]): UncheckedRequest[] {
  const processed = lastSaved(events) ? lastIdleTask(events) : -1;
  const inherited = processed < 0 ? (previousRun(events)?.unprocessed ?? []) : [];
  const received = events.slice(processed + 1).flatMap((event) => toRequest(event) ?? []);
  return [...inherited, ...received]
    .filter(({ event }) => isOrderEvent(event))
    .filter(({ event }, index, requests) => event !== requests[index - 1]?.event)
    .slice(0, MAX_UNPROCESSED);
}

/** True while the run waits to repeat a read or write of Postgres that has failed. */
export function waitsForPostgres(events: readonly Event[]): boolean {
  return backOffs(events).some(({ end }) => end === events.length);
}

/** The index of the last workflow task that left no read or write of Postgres to be repeated; -1 if there is none. */
function lastIdleTask(events: readonly Event[]): number {
  const waits = backOffs(events);
  const isIdle = (index: number) => !waits.some(({ start, end }) => start <= index && index < end);
  return events.findLastIndex(({ workflowTaskCompletedEventAttributes: task }, index) => task && isIdle(index));
}

/**
 * The waits before local activities were repeated, from the workflow task that began one to the timer that ended it, as
 * indexes of `events`. Their timers are the SDK's, and the only ones without a summary.
 */
function backOffs(events: readonly Event[]): { start: number; end: number }[] {
  return events.flatMap(({ timerStartedEventAttributes: timer, userMetadata }) => {
    if (!timer || userMetadata) return [];
    const end = events.findIndex(
      ({ timerFiredEventAttributes: fired, timerCanceledEventAttributes: canceled }) =>
        (fired ?? canceled)?.timerId === timer.timerId,
    );
    const start = Number(timer.workflowTaskCompletedEventId) - 1;
    return [{ start, end: end < 0 ? events.length : end }];
  });
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
