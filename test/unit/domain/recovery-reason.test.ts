import { recoveryReasonOf } from '../../../src/domain/recovery-reason';

test.each([
  ['its workflow tasks keep failing: TMPRL1100', 'stuck'],
  ['it was behind the row: at version 1 of 3', 'behind_row'],
  ['its next webhook was overdue, and it was not sending', 'webhook_overdue'],
  ['it still ran, although the order was settled', 'still_running'],
  ['Temporal held no run of the order', 'missing'],
  ['it was terminated: an operator', 'terminated'],
  ['it was terminated: its workflow tasks keep failing', 'stuck'],
  ['it failed: the row holds a different change', 'failed'],
  ['it timed out or was cancelled', 'timed_out'],
  ['the row lacked 2 changes of the last run', 'row_restored'],
  ['something new', 'other'],
])('the metric counts %j as %s', (sentence, reason) => {
  expect(recoveryReasonOf(sentence)).toBe(reason);
});
