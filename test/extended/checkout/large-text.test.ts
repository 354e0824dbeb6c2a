import type { Browser } from 'playwright-core';
import { agreementPage } from '../../../src/checkout/pages/agreement';
import { bankPage } from '../../../src/checkout/pages/bank';
import { choicePage } from '../../../src/checkout/pages/choice';
import { completePage } from '../../../src/checkout/pages/complete';
import { detailsPage } from '../../../src/checkout/pages/details';
import { type Page, renderPage } from '../../../src/checkout/pages/layout';
import type { Payment } from '../../../src/checkout/domain/payment';
import { monthlyInstalments } from '../../../src/checkout/lender/instalments';
import { inBrowser, launchChromium } from '../../support/chromium';
import { ORDER, orderAfter } from '../../support/domain-orders';
import { PAID_LATER, PROVIDER_DETAILS, viewOf } from '../../support/provider-details';

const LONG = {
  sellerName: 'Mountaineering & Outdoor Equipment Wholesalers (North) Limited',
  amountPence: 123_456_789,
};
const order = { ...ORDER, ...LONG, status: 'PENDING' as const };
const branding = { shopUrl: null, colour: null, hasLogo: true, contactEmail: 'help@shop.example', helpUrl: null };
const layout = { order, branding, providerDetails: PROVIDER_DETAILS, path: '/pay/x' };
const today = '2026-11-28';
const pricing = {
  representativeInterest: 9.9,
  promotions: [{ name: 'Interest free', interestFreeDays: 30, validUntil: '2099-01-31' }],
};
const quote = monthlyInstalments(order.amountPence, 3, today, pricing);
const providerDetails = { ...PROVIDER_DETAILS, quote: () => quote };
const view = viewOf({ order, branding, providerDetails, today });
const payment: Payment = {
  ...{ id: '1', orderId: order.id, bank: 'oak', status: 'refused' },
  ...{ approvedAt: null, ageMs: 0, isOpen: false, sandbox: false },
};
const applicant = {
  ...{ businessName: 'Bloggs & Daughters Construction Ltd', companyNumber: '01234567' },
  ...{ email: 'jo@bloggs.example', monthlyTurnoverPence: 1 },
};
const application = {
  ...PAID_LATER,
  submitted: { applicant, at: new Date(0) },
  decision: { kind: 'approved' as const, offer: quote },
};
const completed = { ...orderAfter('signup_started', 'approved', 'completed'), ...LONG };

const PAGES: [name: string, page: Page][] = [
  ['the choice', choicePage({ ...view, application })],
  ['the application', detailsPage(view)],
  ['the agreement', agreementPage({ ...view, application })],
  ['a refusal', bankPage({ ...view, payment })],
  ['the receipt', completePage({ ...view, order: completed, application: PAID_LATER })],
];

/** Words and amounts that start on one line and end on another, or reach beyond the screen. */
const BROKEN = `(() => {
  const broken = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.parentElement.closest('.visually-hidden')) continue;
    for (const { 0: word, index } of text.data.matchAll(/[\\p{L}\\p{N}£.,%]+/gu)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const boxes = [...range.getClientRects()].filter(({ width }) => width > 1);
      if (new Set(boxes.map(({ top }) => Math.round(top))).size > 1 || boxes.some(({ right }) => right > innerWidth)) broken.push(word);
    }
  }
  return broken;
})()`;

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

inBrowser.each(
  PAGES.flatMap(([name, page]) =>
    (
      [
        ['text of twice the size on a phone', 390, 200],
        ['a phone', 390, 100],
        ['a desktop', 1280, 100],
      ] as const
    ).map(([screen, width, percent]) => [name, screen, page, width, percent] as const),
  ),
)(
  '%s with a long name shows whole words, and no sideways scrolling, with %s',
  async (_name, _screen, page, width, percent) => {
    const tab = await browser.newPage({ viewport: { width, height: 844 } });
    const logo = encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="144" height="40"/>');
    const body = renderPage(page, layout).body.replace('/pay/x/logo/', `data:image/svg+xml,${logo}`);
    await tab.setContent(body.replace('<style>', `<style>html{font-size:${percent}%}`));
    expect(await tab.evaluate(BROKEN)).toEqual([]);
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await tab.close();
  },
);

inBrowser('the summary stays in view on a desktop, and the cost of Pay later shows while it is chosen', async () => {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 500 } });
  await tab.setContent(renderPage(PAGES[2]![1], layout).body);
  await tab.evaluate('scrollTo(0, document.body.scrollHeight)');
  const { y } = (await tab.locator('.amount').boundingBox())!;
  expect(await tab.evaluate('scrollY')).toBeGreaterThan(200);
  expect(y).toBeGreaterThan(0);
  expect(y).toBeLessThan(500);

  await tab.setContent(renderPage(PAGES[0]![1], layout).body);
  const cost = tab.getByText('Total to repay');
  expect(await cost.isVisible()).toBe(true);
  await tab.getByRole('radio', { name: 'Pay now' }).check();
  expect(await cost.isVisible()).toBe(false);
  const button = (await tab.getByRole('button', { name: 'Continue' }).boundingBox())!;
  await tab.getByRole('radio', { name: 'Pay later' }).check();
  expect((await cost.boundingBox())!.y).toBeLessThan(
    (await tab.getByRole('button', { name: 'Continue' }).boundingBox())!.y,
  );
  expect(button.y).toBeLessThan(500);
  await tab.close();
});
