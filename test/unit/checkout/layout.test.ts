import { type LayoutContext, type Page, renderPage } from '../../../src/checkout/pages/layout';
import { agreementPage } from '../../../src/checkout/pages/agreement';
import { bankPage } from '../../../src/checkout/pages/bank';
import { choicePage } from '../../../src/checkout/pages/choice';
import { completePage } from '../../../src/checkout/pages/complete';
import { detailsPage } from '../../../src/checkout/pages/details';
import { otherBrowserPage } from '../../../src/checkout/pages/other-browser';
import { leavingPage, payingPage } from '../../../src/checkout/pages/paying';
import { waitingPage } from '../../../src/checkout/pages/waiting';
import type { Payment } from '../../../src/checkout/domain/payment';
import { ORDER, orderAfter } from '../../support/domain-orders';
import { APPLICANT, PAID_LATER, PROVIDER_DETAILS, viewOf } from '../../support/provider-details';

const BRANDING = { ...viewOf({}).branding, helpUrl: 'https://shop.example/help' };
const LAYOUT: LayoutContext = { order: ORDER, branding: BRANDING, providerDetails: PROVIDER_DETAILS, path: '/pay/x' };
const PAID: Payment = {
  id: '1',
  orderId: ORDER.id,
  bank: 'oak',
  status: 'paid',
  approvedAt: null,
  ageMs: 0,
  isOpen: true,
  sandbox: false,
};
const APPLIED = { ...PAID_LATER, submitted: { applicant: APPLICANT, at: new Date(0) } };
const pending = viewOf({ branding: BRANDING });
const approved = viewOf({ branding: BRANDING, application: { ...APPLIED, agreedAt: null } });
const declined = viewOf({
  branding: BRANDING,
  application: { ...APPLIED, decision: { kind: 'declined', code: 'other' }, agreedAt: null },
});
const paying = viewOf({ branding: BRANDING, payment: { ...PAID, status: 'pending' } });
const order = orderAfter('signup_started', 'approved', 'completed');
const paidNow = viewOf({ order, branding: BRANDING, payment: PAID });
const paidLater = viewOf({ order, branding: BRANDING, application: PAID_LATER });

const PAY_NOW_PAGES: [string, Page][] = [
  ['the banks', bankPage(pending)],
  ['Pay now after a decline', bankPage(declined)],
  ['the payment', payingPage(paying)],
  ['the way to the bank', leavingPage('Oak Bank', 'https://bank.example/', 'Your payment')],
  ['the wait for the bank', waitingPage('confirming', paidNow)],
  ['the completion', waitingPage('completing', paidNow)],
  ['the receipt', completePage(paidNow)],
  ['another browser', otherBrowserPage('complete', paidNow, { isSent: false })],
];
const PAY_LATER_PAGES: [string, Page][] = [
  ['the application', detailsPage(pending)],
  ['the wait for the decision', waitingPage('waiting', approved)],
  ['the agreement', agreementPage(approved)],
  ['the receipt', completePage(paidLater)],
];
const CHOICE: Page = choicePage(pending);

const footerOf = (page: Page) => renderPage(page, LAYOUT).body.split('<footer>')[1]!.replace(/\s+/g, ' ');
const LENDER = 'Pay later is provided by Sandbox Lender.';
const PAYMENTS = `Pay now is provided by Sandbox Payments. ${PROVIDER_DETAILS.payNow!.regulation}`;
const namedOn = (page: Page) => [LENDER, PAYMENTS].map((text) => footerOf(page).includes(text));

test.each(PAY_NOW_PAGES)('Pay now: %s names the payment provider and its regulator, and not the lender', (_, page) => {
  expect(namedOn(page)).toEqual([false, true]);
});

test.each(PAY_LATER_PAGES)('Pay later: %s names the lender, and not the payment provider', (_, page) => {
  expect(namedOn(page)).toEqual([true, false]);
});

test('the choice names both, if the order allows both', () => {
  expect(namedOn(CHOICE)).toEqual([true, true]);
  const onlyLater = { ...LAYOUT, order: { ...ORDER, allowedPaymentTerms: ['PAY_LATER' as const] } };
  expect(renderPage(CHOICE, onlyLater).body).not.toContain('Pay now is provided');
});

test.each([
  ['PAY_NOW', [CHOICE, bankPage(pending), payingPage(paying)]],
  ['PAY_LATER', [CHOICE, PAY_LATER_PAGES[0]![1], PAY_LATER_PAGES[2]![1]]],
] as const)('every step of %s states its number and how many there are', (only, pages) => {
  const stepsWith = (allowedPaymentTerms: ('PAY_NOW' | 'PAY_LATER')[]) =>
    pages.map(
      (page) =>
        /Step \d of \d/.exec(renderPage(page, { ...LAYOUT, order: { ...ORDER, allowedPaymentTerms } }).body)?.[0],
    );
  expect(stepsWith(['PAY_NOW', 'PAY_LATER'])).toEqual(['Step 1 of 3', 'Step 2 of 3', 'Step 3 of 3']);
  expect(stepsWith([only]).slice(1)).toEqual(['Step 1 of 2', 'Step 2 of 2']);
});

test('a deadline that has passed, while the expiry is held, is not shown', () => {
  const bodyAt = (ms: number) => {
    const order = { ...ORDER, status: 'PENDING' as const, expiresAt: new Date(Date.now() + ms).toISOString() };
    return renderPage(CHOICE, { ...LAYOUT, order }).body;
  };
  expect([bodyAt(60_000), bodyAt(-1)].map((body) => body.includes('Complete by'))).toEqual([true, false]);
});

test('documents and help open in a new tab, so that the page and what was typed stay', () => {
  for (const [, page] of [...PAY_NOW_PAGES, ...PAY_LATER_PAGES]) {
    const { body } = renderPage(page, LAYOUT);
    const links = [...body.matchAll(/<a\s[^>]*href="([^"]*)"([^>]*)>/g)].map(([, url, rest]) => [
      url,
      rest?.includes('target="_blank"'),
    ]);
    const { privacyUrl, termsUrl, creditAgreementUrl } = PROVIDER_DETAILS;
    const external = links.filter(([url]) =>
      [privacyUrl, termsUrl, creditAgreementUrl, BRANDING.helpUrl].includes(String(url)),
    );
    expect(external.length).toBeGreaterThanOrEqual(3);
    expect(external.every(([, isNewTab]) => isNewTab)).toBe(true);
  }
});
