/**
 * Why the service replaced a run, and what the new run found in the history of the last one: phrases of the text in the
 * timeline, which adds details. The name is the label of the metric.
 */
export const RECOVERY_REASONS = {
  stuck: 'its workflow tasks keep failing',
  behind_row: 'it was behind the row',
  webhook_overdue: 'its next webhook was overdue, and it was not sending',
  still_running: 'it still ran, although the order was settled',
  missing: 'Temporal held no run of the order',
  terminated: 'it was terminated',
  timed_out: 'it timed out or was cancelled',
  failed: 'it failed',
  // Part of every message about a restored row: the metric recognizes it.
  row_restored: 'the last run',
} as const;

type RecoveryReason = keyof typeof RECOVERY_REASONS;

/** The first reason whose phrase the text contains: a run that was terminated because it was stuck counts as stuck. */
export function recoveryReasonOf(text: string): RecoveryReason | 'other' {
  const found = Object.entries(RECOVERY_REASONS).find(([, phrase]) => text.includes(phrase));
  return found ? (found[0] as RecoveryReason) : 'other';
}
