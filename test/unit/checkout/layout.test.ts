import { type LayoutContext, type Page, renderPage } from '../../../src/checkout/pages/layout';
import { EMPTY_FORM } from '../../../src/checkout/domain/application-form';
import { agreementPage } from '../../../src/checkout/pages/agreement';
import { type BankOptions, chooseBankPage } from '../../../src/checkout/pages/bank';
import { choicePage } from '../../../src/checkout/pages/choice';
import { completePage } from '../../../src/checkout/pages/complete';
import { detailsPage } from '../../../src/checkout/pages/details';
import { otherBrowserPage } from '../../../src/checkout/pages/other-browser';
import { payNowOfferedPage } from '../../../src/checkout/pages/pay-now-offered';
import { bankRedirectPage, payingPage } from '../../../src/checkout/pages/paying';
import { waitingPage } from '../../../src/checkout/pages/waiting';
import type { Payment } from '../../../src/checkout/domain/payment';
import { ORDER, orderAfter } from '../../support/domain-orders';
import { PAID_LATER, PROVIDER_DETAILS } from '../../support/provider-details';

const BRANDING = {
  shopUrl: null,
  colour: null,
  hasLogo: false,
  contactEmail: null,
  helpUrl: 'https://shop.example/help',
};
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
const form = { path: '/pay/x', token: '' };
const common = { ...form, ...LAYOUT, mailTo: undefined, elsewhere: undefined, withdraw: undefined };
const quote = PROVIDER_DETAILS.quote(ORDER, '2026-03-01')!;
const update = { path: '/pay/x', url: '/pay/x/', isRefreshing: true, waitedMs: 0 };
const wait = {
  ...LAYOUT,
  since: new Date(0),
  isRefreshing: true,
  now: new Date(0),
  mailTo: undefined,
  elsewhere: undefined,
};
const banks: BankOptions = {
  ...common,
  lastPayment: undefined,
  isApplicant: true,
  canPayLater: true,
  typed: EMPTY_FORM,
  isMissing: false,
};
const complete = { order: orderAfter('signup_started', 'approved', 'completed'), branding: BRANDING };
const paidNow = { ...complete, application: undefined, payment: PAID };
const paidLater = { ...complete, application: PAID_LATER, payment: undefined };
const details = {
  ...common,
  quote,
  today: '2026-03-01',
  values: EMPTY_FORM,
  errors: {},
  replaces: undefined,
  retentionDays: 30,
};

const PAY_NOW_PAGES: [string, Page][] = [
  ['the banks', chooseBankPage(banks)],
  ['Pay now after a decline', payNowOfferedPage({ ...banks, reason: 'other' })],
  ['the payment', payingPage({ ...common, bank: 'Oak Bank', paymentId: '1', update })],
  ['the way to the bank', bankRedirectPage('Oak Bank', 'https://bank.example/')],
  ['the wait for the bank', waitingPage({ ...wait, state: 'confirming', isPaidNow: true })],
  ['the completion', waitingPage({ ...wait, state: 'completing', isPaidNow: true })],
  ['the receipt', completePage({ checkout: paidNow, providerDetails: PROVIDER_DETAILS, elsewhere: undefined })],
  [
    'another browser',
    otherBrowserPage({ canMail: true, isSent: false, ...form, state: 'complete', checkout: paidNow, error: undefined }),
  ],
];
const PAY_LATER_PAGES: [string, Page][] = [
  ['the application', detailsPage(details)],
  ['the wait for the decision', waitingPage({ ...wait, state: 'waiting', isPaidNow: false })],
  [
    'the agreement',
    agreementPage({ ...common, offer: quote, applicant: undefined, today: '2026-03-01', error: undefined }),
  ],
  ['the receipt', completePage({ checkout: paidLater, providerDetails: PROVIDER_DETAILS, elsewhere: undefined })],
];
const CHOICE: Page = choicePage({
  ...common,
  quote,
  today: '2026-03-01',
  lenderName: 'Sandbox Lender',
  chosen: undefined,
  isMissing: false,
});

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
  ['PAY_NOW', [CHOICE, chooseBankPage(banks), payingPage({ ...common, bank: 'Oak Bank', paymentId: '1', update })]],
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
