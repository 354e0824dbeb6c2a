import { expiryOf, holdUntil } from '../../../src/checkout/domain/expiry';
import { APPLICANT } from '../../support/provider-details';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.parse('2027-03-01T12:00:00Z');
const at = (ms: number): Date => new Date(NOW + ms);
const expiring = (ms: number) => ({ expiresAt: at(ms).toISOString() });

/** An application that was submitted so long ago, and decided so long ago or not yet. */
function applied(submittedAgo: number, decidedAgo?: number) {
  return {
    submitted: { applicant: APPLICANT, at: at(-submittedAgo) },
    decidedAt: decidedAgo === undefined ? null : at(-decidedAgo),
  };
}

const minutesFromNow = (until: Date | undefined) => until && (until.getTime() - NOW) / MINUTE;

test('the time that the lender takes does not count towards the expiry', () => {
  expect(expiryOf(expiring(HOUR), applied(3 * HOUR, HOUR), NOW)).toBe(NOW + 3 * HOUR);
  expect(expiryOf(expiring(HOUR), applied(3 * HOUR), NOW)).toBe(NOW + 4 * HOUR);
});

test('a decision within a minute, no application and no expiry change nothing', () => {
  expect(expiryOf(expiring(HOUR), applied(HOUR, HOUR - MINUTE + 1), NOW)).toBe(NOW + HOUR);
  expect(expiryOf(expiring(HOUR), undefined, NOW)).toBe(NOW + HOUR);
  expect(expiryOf({ expiresAt: null }, applied(HOUR), NOW)).toBe(Infinity);
});

test.each([
  ['is not held if the order never expires', { expiresAt: null }, undefined, 0, undefined],
  ['is not held if it comes later than the step takes', expiring(7 * MINUTE), undefined, 0, undefined],
  ['is held for the step', expiring(5 * MINUTE), undefined, 0, 6],
  ['is held until the lender is asked again', expiring(HOUR), applied(0), 10 * HOUR, 606],
  ['moves by the time that the lender took', expiring(-HOUR), applied(5 * HOUR, HOUR), 0, 3 * 60],
  ['is held longer for a step than it has moved', expiring(-3 * HOUR), applied(5 * HOUR, 2 * HOUR), 0, 6],
] as const)('an expiry %s', (_, order, application, waitMs, minutes) => {
  expect(minutesFromNow(holdUntil(order, application, NOW, waitMs))).toBe(minutes);
});
