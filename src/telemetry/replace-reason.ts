/** Why a run was replaced: the label for the sentence in the timeline. */
const REASONS: [RegExp, string][] = [
  [/tasks keep failing/, 'stuck'],
  [/behind the row/, 'behind_row'],
  [/webhook was overdue/, 'webhook_overdue'],
  [/still ran, although/, 'still_running'],
  [/held no run/, 'missing'],
  [/was terminated/, 'terminated'],
  [/timed out or was cancelled/, 'timed_out'],
  [/^it failed/, 'failed'],
  [/row lacked|another version|had expired/, 'row_restored'],
];

export const REPLACE_REASONS: readonly string[] = [...REASONS.map(([, reason]) => reason), 'other'];

export function replaceReason(sentence: string): string {
  return REASONS.find(([pattern]) => pattern.test(sentence))?.[1] ?? 'other';
}
