import type { Application } from '../../../src/checkout/domain/application';
import type { WaitingState } from '../../../src/checkout/domain/checkout-state';
import { renderPage } from '../../../src/checkout/pages/layout';
import { waitingPage } from '../../../src/checkout/pages/waiting';
import { ORDER } from '../../support/domain-orders';
import { APPLICANT, PAID_LATER, PROVIDER_DETAILS, viewOf } from '../../support/provider-details';

const pageOf = (state: WaitingState, since: Date, now: Date) => {
  const application: Application = { ...PAID_LATER, submitted: { applicant: APPLICANT, at: since }, agreedAt: since };
  return waitingPage(state, viewOf({ application, now }));
};

test('the waiting page, which reloads every 5 seconds, changes its text within 15 seconds and refreshes less often after 90 seconds', () => {
  const after = (seconds: number, state: WaitingState = 'waiting') => {
    const now = new Date('2027-01-15T12:00:00Z');
    const since = new Date(now.getTime() - seconds * 1000);
    const { refresh, content } = pageOf(state, since, now);
    return [refresh?.afterSeconds, /usually|longer than usual/.exec(content.text)?.[0]];
  };
  expect([after(1), after(9), after(11), after(91)]).toEqual([
    [5, 'usually'],
    [5, 'usually'],
    [5, 'longer than usual'],
    [30, 'longer than usual'],
  ]);
  expect(after(31, 'completing')).toEqual([5, 'longer than usual']);
});

test.each<[WaitingState, boolean]>([
  ['waiting', true],
  ['referred', true],
  ['confirming', false],
  ['completing', false],
])('while the order is %s, the page states a deadline and how to finish later: %p', (state, isOpen) => {
  const now = new Date();
  const order = { ...ORDER, status: 'PENDING' as const, expiresAt: new Date(now.getTime() + 3_600_000).toISOString() };
  const page = pageOf(state, now, now);
  const branding = { shopUrl: null, colour: null, hasLogo: false, contactEmail: null, helpUrl: null };
  const { body } = renderPage(page, { order, branding, providerDetails: PROVIDER_DETAILS, path: '/pay/x' });
  expect([body.includes('Complete by'), body.includes('You can finish this order later')]).toEqual([isOpen, isOpen]);
});
