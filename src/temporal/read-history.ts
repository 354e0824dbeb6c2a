import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { cancelSignal, customerProgressSignal } from '../../workflows/messages';
import type { PreviousRun, WorkflowHistory } from '../domain/order';
import { RECOVERY_REASONS } from '../domain/recovery-reason';

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

/** The order as the previous run saved it. A run that closes before it has read the row passes this on. */
export function savedBefore(events: readonly Event[]): WorkflowHistory | undefined {
  const { previous } = (decode(events[0]?.workflowExecutionStartedEventAttributes?.input) ?? {}) as {
    previous?: PreviousRun;
  };
  return previous?.saved ?? undefined;
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

/** A request that somebody made in Temporal: a signal with its input, or a cancellation request. */
export type TemporalRequest = { signal: string; input: unknown } | { signal: null };

/** The requests for a change that Temporal has accepted and no workflow task has processed. */
export function unprocessedRequests(events: readonly Event[]): TemporalRequest[] {
  const processed = events.findLastIndex(({ workflowTaskCompletedEventAttributes: completed }) => completed);
  const names = [cancelSignal.name, customerProgressSignal.name];
  const requests: TemporalRequest[] = [];
  for (const event of events.slice(processed + 1)) {
    if (event.workflowExecutionCancelRequestedEventAttributes) requests.push({ signal: null });
    const { signalName, input } = event.workflowExecutionSignaledEventAttributes ?? {};
    if (signalName != null && names.includes(signalName)) requests.push({ signal: signalName, input: decode(input) });
  }
  return requests;
}

function explain(text: string | null | undefined): string {
  return text ? `: ${text.slice(0, MAX_REASON_LENGTH)}` : '';
}
