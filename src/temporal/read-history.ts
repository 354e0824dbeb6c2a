import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { REFUSAL_SUMMARY_PREFIX, cancelSignal, customerProgressSignal } from '../../workflows/messages';
import type { PreviousRun, WorkflowOrderHistory } from '../domain/order';
import { RECOVERY_REASONS } from '../domain/recovery-reason';
import {
  type UncheckedRequest,
  fromCancellationRequest,
  toCancel,
  toProgress,
  toStorable,
} from '../domain/unchecked-request';

type Event = temporal.api.history.v1.IHistoryEvent;
type Payloads = temporal.api.common.v1.IPayloads | null | undefined;

const MAX_FAILURE_LENGTH = 300;

function decode(payloads: Payloads): unknown {
  const payload = payloads?.payloads?.[0];
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}

/**
 * The order as a run last saved it or read it from the row. The input of a first start is saved too. A save and a read
 * are local activities, which leave a marker with their result.
 */
export function lastSaved(events: readonly Event[]): WorkflowOrderHistory | undefined {
  let saved: WorkflowOrderHistory | undefined;
  for (const { workflowExecutionStartedEventAttributes: started, markerRecordedEventAttributes: marker } of events) {
    const { history } = (decode(started?.input ?? marker?.details?.result) ?? {}) as { history?: WorkflowOrderHistory };
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
 * The requests for a change that Temporal has accepted and the run has neither carried out nor refused: each refusal
 * leaves a marker. Of successive requests for the same event, only the first is returned. At most `MAX_UNPROCESSED`,
 * plus the first cancel if it comes later.
 * @param saved see `lastSaved`
 * @param previous see `previousRun`
 */
export function unprocessedRequests(
  events: readonly Event[],
  saved: WorkflowOrderHistory | undefined,
  previous: PreviousRun | undefined,
): UncheckedRequest[] {
  const carriedOut: readonly string[] = saved?.changes.map(({ event }) => event) ?? [];
  const refused = events.flatMap((event) => refusedEvent(event) ?? []);
  const received = events.flatMap((event) => toRequest(event) ?? []);
  const requests = [...(previous?.unprocessed ?? []), ...received]
    .filter(({ event }) => {
      const refusal = refused.indexOf(event);
      if (refusal >= 0) refused.splice(refusal, 1);
      return refusal < 0 && !carriedOut.includes(event);
    })
    .filter(({ event }, index, all) => event !== all[index - 1]?.event);
  const cancel = requests.findIndex(({ event }) => event === 'cancel');
  return requests.filter((_, index) => index < MAX_UNPROCESSED || index === cancel);
}

function refusedEvent({ markerRecordedEventAttributes: marker, userMetadata }: Event): string | undefined {
  // A call that failed and is repeated leaves a marker with the failure.
  if (!marker || marker.failure || !userMetadata?.summary) return undefined;
  const summary = decode({ payloads: [userMetadata.summary] });
  return typeof summary === 'string' && summary.startsWith(REFUSAL_SUMMARY_PREFIX)
    ? summary.slice(REFUSAL_SUMMARY_PREFIX.length)
    : undefined;
}

/**
 * True while the run waits to repeat a read or write of Postgres that has failed, until the workflow task after that.
 * The timer is the SDK's, and the only one without a summary.
 */
export function waitsForPostgres(events: readonly Event[]): boolean {
  const start = events.findLastIndex((event) => event.timerStartedEventAttributes && !event.userMetadata);
  const timerId = events[start]?.timerStartedEventAttributes?.timerId;
  if (timerId == null) return false;
  const end = events.findIndex(({ timerFiredEventAttributes: fired }) => fired?.timerId === timerId);
  return end < 0 || !events.slice(end).some(({ workflowTaskCompletedEventAttributes: completed }) => completed);
}

/** The change that an event requests; undefined if it requests none. */
function toRequest(event: Event): UncheckedRequest | undefined {
  if (event.workflowExecutionCancelRequestedEventAttributes) return fromCancellationRequest();
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

/** The text may be an operator's, or quote a payload, and is recorded in the timeline. */
function explain(text: string | null | undefined): string {
  return text ? `: ${toStorable(text.slice(0, MAX_FAILURE_LENGTH))}` : '';
}
