/** Why a run was replaced: the label for the sentence in the timeline. */
const REASONS: [RegExp, string][] = [
  [/tasks keep failing/, 'stuck'],
  [/behind the row/, 'behind_row'],
  [/webhook was overdue/, 'webhook_overdue'],
  [/still ran, although/, 'still_running'],
  [/held no run/, 'missing'],
  [/terminated/i, 'terminated'],
  [/cancel/i, 'cancelled'],
  [/timed out/i, 'timed_out'],
  [/failed/i, 'failed'],
  [/row lacked|another version|expired the order/, 'row_restored'],
];

export function replaceReason(sentence: string): string {
  return REASONS.find(([pattern]) => pattern.test(sentence))?.[1] ?? 'other';
}
