import type { BrowserContext, Page } from 'playwright-core';
import { saveBranding } from '../../src/checkout/db/branding';
import { updateSeller } from '../../src/db/sellers';
import { type Page as CheckoutPage, renderPage } from '../../src/checkout/pages/layout';
import { closedPage } from '../../src/checkout/pages/closed';
import { completePage, redirectPage } from '../../src/checkout/pages/complete';
import { SERVICE_UNAVAILABLE, TOO_MANY_REQUESTS, errorPage } from '../../src/checkout/pages/error-page';
import { continueElsewhere, otherBrowserPage } from '../../src/checkout/pages/other-browser';
import { leavingPage } from '../../src/checkout/pages/paying';
import { waitingPage } from '../../src/checkout/pages/waiting';
import { findOrder } from '../../src/db/orders';
import { APPLICANT, PAID_LATER, PROVIDER_DETAILS, viewOf } from '../support/provider-details';
import { BUSINESS, endReferral, proceedCheckout, statusOfOrder } from '../support/checkout';
import { inBrowser } from '../support/chromium';
import { useCustomers } from '../support/customer-browser';
import { apply, choose, expectPage, fill, payAtBank } from '../support/customer-steps';
import { findViolations } from '../support/inspect-page';
import { keptMails, kindOf, linkIn } from '../support/mails';
import { until } from '../support/until';
import { useSharedStack } from '../support/shared-stack';

const MAX_PAGE_BYTES = 50 * 1024;

jest.setTimeout(300_000);

// Each test ends the referral or the bank's delay itself, after it has seen its page.
const stack = useSharedStack();
/** Requests to other hosts, breaches of the Content-Security-Policy, findings of axe-core. */
const violations: string[] = [];
/** The size of each response for customers. */
const sizes: { url: string; bytes: number }[] = [];
const { chromium, shop, newContext, visit, newOrder, startApplication, expectWebhooks } = useCustomers(stack, watch);

beforeAll(async () => {
  await updateSeller(stack.db, stack.seller.id, {
    name: 'Harbour & Pine',
    pricing: {
      representativeInterest: 12.9,
      promotions: [{ name: 'Spring offer', interestFreeDays: 30, validUntil: `${new Date().getFullYear() + 1}-03-31` }],
    },
  });
  const logo = { type: 'image/png' as const, bytes: await drawLogo() };
  await saveBranding(stack.db, stack.seller.id, { colour: '#0f5c4a', logo });
});

async function drawLogo(): Promise<Buffer> {
  const blank = await chromium.browser.newPage({ viewport: { width: 40, height: 40 } });
  await blank.setContent(
    '<body style="margin:0;background:#0f5c4a;color:#fff;font:700 20px/40px sans-serif;text-align:center">HP',
  );
  const png = await blank.screenshot();
  await blank.close();
  return png;
}

function watch(opened: BrowserContext): void {
  opened.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    const isOurs = origin === stack.api.url || protocol === 'data:' || request.isNavigationRequest();
    if (!isOurs) violations.push(`requested ${request.url()}`);
  });
  opened.on('response', (response) => {
    if (!response.url().startsWith(`${stack.api.url}/pay/`) || response.status() === 303) return;
    sizes.push({ url: response.url(), bytes: Number(response.headers()['content-length']) });
  });
  opened.on('console', (message) => {
    if (/Content.Security.Policy|Refused to/i.test(message.text())) violations.push(message.text());
  });
  opened.on('dialog', (dialog) => violations.push(`a dialog: ${dialog.message()}`));
}

const heading = (on: Page) => on.locator('h1').textContent();

async function inspect(on: Page, name: string): Promise<void> {
  violations.push(...(await findViolations(on)).map((violation) => `${name}: ${violation}`));
}

/** Makes the bank confirm a slow payment of an order, or cancel an abandoned one. */
async function endBankDelay(id: string): Promise<void> {
  await stack.db.query(
    `update sandbox_payment set decided_at = now() - interval '1 hour'
     where id in (select id from payment where order_id = $1)`,
    [id],
  );
}

visit('every step is accessible and works with the keyboard alone', async ({ page }) => {
  const { url, id } = await newOrder();
  await page.goto(url);
  await expectPage(page, 'How would you like to pay?');
  expect(await page.evaluate("document.querySelector('header img').naturalWidth")).toBe(40);
  // A phone shows the button without scrolling.
  await page.setViewportSize({ width: 390, height: 664 });
  const button = await page.getByRole('button', { name: 'Continue' }).boundingBox();
  expect(button!.y + button!.height).toBeLessThan(664);
  await inspect(page, 'choice');
  // The targets are large enough for fingers (WCAG 2.2, 2.5.8: 24 px).
  for (const link of await page.locator('footer a').all())
    expect((await link.boundingBox())!.height).toBeGreaterThanOrEqual(40);
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  expect(await page.getByLabel('Pay later').isChecked()).toBe(true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expectPage(page, 'About your business');
  await inspect(page, 'details');
  await page.locator('#business_name').focus();
  await page.keyboard.type('Bloggs & Daughters Ltd');
  await page.keyboard.press('Enter');
  await page.locator('[aria-invalid]').first().waitFor();
  expect(await page.title()).toBe('Error: About your business – Harbour & Pine');
  expect(await page.evaluate('document.activeElement.id')).toBe('company_number');
  await inspect(page, 'errors');
  await page.reload();
  expect(await page.inputValue('#business_name')).toBe('Bloggs & Daughters Ltd');
  for (const value of [BUSINESS.company_number, BUSINESS.email, BUSINESS.monthly_turnover]) {
    await page.keyboard.type(value);
    await page.keyboard.press('Tab');
  }
  // The link to the privacy notice comes before the button.
  await page.keyboard.press('Tab');
  expect(await page.locator(':focus').textContent()).toContain('Submit application');
  await page.keyboard.press('Enter');
  await expectPage(page, 'You are approved');
  await inspect(page, 'schedule');
  await page.getByRole('button').click();
  await page.locator('#not-agreed').waitFor();
  await inspect(page, 'not-agreed');
  await page.keyboard.press('Space');
  expect(await page.getByRole('checkbox').isChecked()).toBe(true);
  // The terms come before the box.
  await page.keyboard.press('Shift+Tab');
  expect(await page.locator(':focus').textContent()).toBe('credit agreement (opens in a new tab)');
  for (let tabs = 0; tabs < 2; tabs += 1) await page.keyboard.press('Tab');
  expect(await page.locator(':focus').textContent()).toBe('Agree and complete order');
  await page.keyboard.press('Enter');
  await expectPage(page, 'Thanks for your order');
  await page.goto(url);
  await expectPage(page, 'Your order is complete');
  await inspect(page, 'complete');
  await page.emulateMedia({ media: 'print' });
  expect(await page.getByRole('link', { name: 'Return to' }).isVisible()).toBe(false);
  expect(await page.getByRole('table').isVisible()).toBe(true);
  expect(await page.getByText('no real lender, bank, email or money').isVisible()).toBe(true);
  await expectWebhooks(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
});

visit(
  'every page of paying now is accessible, and a refused or abandoned payment can be repeated',
  async ({ page }) => {
    const { url, id } = await newOrder({ allowed_payment_terms: ['PAY_NOW'] });
    await page.goto(url);
    await expectPage(page, 'Choose your bank');
    await inspect(page, 'banks');
    await page.getByRole('button', { name: 'Continue to your bank' }).click();
    await page.getByRole('alert').waitFor();
    await inspect(page, 'no-bank');
    await page.getByLabel('Oak Bank').check();
    await page.getByRole('button', { name: 'Continue to your bank' }).click();
    await page.getByRole('heading', { name: 'Approve a payment' }).waitFor();
    await inspect(page, 'sandbox-bank');
    await page.goto(`${url}?refresh=off`);
    await expectPage(page, 'Approve the payment at Oak Bank');
    await inspect(page, 'paying');
    await page.getByRole('button', { name: 'Choose another bank' }).click();
    await page.getByText('The payment at Oak Bank was cancelled.').waitFor();
    await payAtBank(page, 'refused');
    await page.getByText('Oak Bank refused the payment. No money was taken.').waitFor();
    await inspect(page, 'refused');
    await payAtBank(page, 'abandoned');
    await expectPage(page, 'Approve the payment at Oak Bank');
    await endBankDelay(id);
    await page.getByText('The payment at Oak Bank was cancelled.').waitFor();
    await payAtBank(page, 'slow');
    await expectPage(page, 'Your bank is confirming the payment');
    await endBankDelay(id);
    await page.getByRole('heading', { name: 'Your order is complete' }).waitFor();
    await page.getByRole('link', { name: 'Stay on this page' }).click();
    await page.getByText('You can print or save').waitFor();
    await inspect(page, 'paid');
    await expectWebhooks(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
  },
);

visit('the page that offers Pay now after a decline is accessible', async ({ page }) => {
  await startApplication(page);
  await apply(page, { email: 'declined@bloggs.example' });
  await expectPage(page, 'Pay later was not approved');
  await inspect(page, 'pay-now-offered');
});

visit('a customer is sent to the page of the lender, and continues after coming back', async ({ page }) => {
  const { id, url } = await startApplication(page);
  await apply(page, { email: 'verify@bloggs.example' });
  // On a busy machine, the lender may answer after the call has stopped waiting: a link leads to the lender then.
  await page.locator('h1', { hasText: /Confirm your identity|Continue at Sandbox Lender/ }).waitFor();
  const link = page.getByRole('link', { name: 'Continue to Sandbox Lender' });
  if (await link.isVisible()) await link.click();
  await expectPage(page, 'Confirm your identity');
  await inspect(page, 'sandbox-lender');
  await page.goto(`${url}?refresh=off`);
  await expectPage(page, 'Continue at Sandbox Lender');
  await inspect(page, 'action-required');
  await link.click();
  await expectPage(page, 'Confirm your identity');
  await page.getByRole('link', { name: 'Confirm and go back' }).click();
  await page.locator('h1', { hasText: 'You are approved' }).waitFor();
  await expectWebhooks(id, 'PENDING', 'APPROVED');
});

visit('a customer whose application could not be processed corrects it and tries again', async ({ page }) => {
  const { id } = await startApplication(page);
  await apply(page, { email: 'failed@bloggs.example' });
  await page.getByText('This is not a decision about you').waitFor();
  await inspect(page, 'retry');
  expect(await page.inputValue('#business_name')).toBe(BUSINESS.business_name);
  await page.fill('#email', 'jo@bloggs.example');
  await page.getByRole('button', { name: 'Submit application' }).dblclick();
  await expectPage(page, 'You are approved');
  await expectWebhooks(id, 'PENDING', 'APPROVED');
});

visit(
  'the waiting page refreshes until the lender has decided, unless the customer turns that off',
  async ({ context, page }) => {
    const { url, id } = await startApplication(page);
    await apply(page, { email: 'referred@bloggs.example' });
    await expectPage(page, 'Sandbox Lender is reviewing your application');
    const still = await context.newPage();
    await still.goto(`${url}?refresh=off`);
    await inspect(still, 'referred');
    await page.waitForEvent('load');
    await expectPage(page, 'Sandbox Lender is reviewing your application');
    await endReferral(stack.db, id);
    await proceedCheckout(stack, id);
    await page.getByRole('heading', { name: 'You are approved' }).waitFor();
    expect(await heading(still)).toBe('Sandbox Lender is reviewing your application');
    await still.getByRole('link', { name: 'Check now' }).click();
    await expectPage(still, 'You are approved');
    await expectWebhooks(id, 'PENDING', 'APPROVED');
  },
);

for (const [kind, allowed_payment_terms, title] of [
  ['declined', ['PAY_LATER'], 'Your application was not approved'],
  ['failed', ['PAY_NOW', 'PAY_LATER'], 'Your order could not be completed'],
] as const) {
  visit(
    `a ${kind} application that ends the order shows the outcome and leads back to the shop, but not to its redirect URL`,
    async ({ page }) => {
      const { url, id } = await newOrder({ allowed_payment_terms });
      await page.goto(url);
      if (kind === 'failed') await choose(page, 'Pay later');
      else await inspect(page, 'only-pay-later');
      await apply(page, { email: `${kind}@bloggs.example` });
      if (kind === 'failed') await page.getByRole('button', { name: 'End this order' }).click();
      await expectPage(page, title);
      await inspect(page, kind);
      expect(await page.getByRole('link', { name: 'Return to Harbour & Pine' }).getAttribute('href')).toBe(
        `${new URL(shop.url).origin}/`,
      );
      await expectWebhooks(id, 'PENDING', 'UNSUCCESSFUL');
      expect(shop.visits.some(({ orderId }) => orderId === id)).toBe(false);
    },
  );
}

visit('after the seller cancels, the next step and the back button show the cancellation', async ({ page }) => {
  const { id } = await startApplication(page);
  await fill(page);
  expect((await stack.api.cancel(id)).status).toBe(200);
  await page.getByRole('button', { name: 'Submit application' }).click();
  await expectPage(page, 'This order was cancelled');
  await inspect(page, 'cancelled');
  await page.goBack();
  await expectPage(page, 'This order was cancelled');
  await expectWebhooks(id, 'PENDING', 'UNSUCCESSFUL');
});

visit('a second browser cannot agree for the first one, and continues with a link by email', async ({ page }) => {
  const { url, id } = await startApplication(page);
  await apply(page);
  await expectPage(page, 'You are approved');
  const otherBrowser = await newContext();
  const other = await otherBrowser.newPage();
  await other.goto(url);
  await expectPage(other, 'The application for this order is approved');
  expect(await other.getByRole('checkbox').count()).toBe(0);
  await inspect(other, 'other-browser');
  await other.goto(`${url}continue/${'A'.repeat(43)}/`);
  await other.getByRole('alert').waitFor();
  await inspect(other, 'wrong-link');
  await other.getByRole('button', { name: 'Email me a link' }).click();
  await other.getByRole('status').waitFor();
  await inspect(other, 'link-sent');
  const isLink = (mail: { id: string }) => kindOf(mail) === 'link';
  const mail = await until(async () => (await keptMails(stack, id)).find(isLink), 'the link is sent');
  await other.goto(`${url}${linkIn(mail)}/`);
  await expectPage(other, 'Continue on this device');
  await inspect(other, 'continue-here');
  await other.getByRole('button', { name: 'Continue on this device' }).dblclick();
  await expectPage(other, 'You are approved');
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Agree' }).click();
  await expectPage(page, 'The application for this order is approved');
  expect(await statusOfOrder(stack, id)).toBe('APPROVED');
  await other.getByRole('checkbox').check();
  await other.getByRole('button', { name: 'Agree' }).click();
  await expectPage(other, 'Thanks for your order');
  await page.reload();
  await expectPage(page, 'This order is complete');
  await inspect(page, 'other-browser-complete');
  await expectWebhooks(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
  await otherBrowser.close();
});

visit('a form from another site is refused, and the page cannot be framed', async ({ context, page }) => {
  const { url, id } = await newOrder();
  await page.goto(url);
  const token = await page.locator('[name=form_token]').getAttribute('value');
  const attacker = await context.newPage();
  await attacker.goto(`${new URL(shop.url).origin.replace('127.0.0.1', 'localhost')}/evil`);
  await attacker.setContent(`<iframe src="${url}"></iframe><form method="post" action="${url}choice/">
    <input name="form_token" value="${token}"><input name="payment_term" value="PAY_LATER"><button>Win</button></form>`);
  await attacker.getByRole('button').click();
  await expectPage(attacker, 'Your session has expired');
  await inspect(attacker, 'session-expired');
  expect(await statusOfOrder(stack, id)).toBe('CREATED');
  // The browser reports the refused frame, as expected here.
  expect(violations.filter((violation) => /frame-ancestors/.test(violation)).length).toBeGreaterThan(0);
  violations.splice(0, violations.length, ...violations.filter((violation) => !/frame-ancestors/.test(violation)));
});

visit('an unknown link shows that the order is not found', async ({ page }) => {
  await page.goto(`${stack.api.url}/pay/00000000-0000-4000-8000-000000000000/`);
  await expectPage(page, 'Order not found');
  await inspect(page, 'not-found');
});

visit('rare pages are accessible', async ({ page }) => {
  const { id } = await newOrder({ reference: 'A very long reference '.repeat(10).trim() });
  const stored = (await findOrder(stack.db, id))!;
  const branding = {
    shopUrl: null,
    colour: '#ffd400',
    hasLogo: false,
    contactEmail: 'help@shop.example',
    helpUrl: 'https://shop.example/help',
  };
  const order = { ...stored, expiresAt: '2126-11-21T22:57:00Z' };
  const checkout = viewOf({ order, branding });
  const { path } = checkout;
  const submitted = { applicant: APPLICANT, at: new Date(0) };
  const mailTo = 'j…@bloggs.example';
  const waiting = viewOf({
    ...{ order, branding, mailTo, elsewhere: continueElsewhere(mailTo) },
    application: { ...PAID_LATER, submitted, agreedAt: new Date(0) },
  });
  const payment = {
    id,
    orderId: id,
    bank: 'oak',
    status: 'refunded' as const,
    startedAt: new Date(),
    approvedAt: null,
    ageMs: 0,
    isOpen: false,
    sandbox: true,
  };
  const closed = { ...checkout, order: { ...order, status: 'UNSUCCESSFUL' as const } };
  const rare: Record<string, CheckoutPage> = {
    waiting: waitingPage('waiting', waiting),
    confirming: waitingPage('confirming', { ...waiting, payment: { ...payment, status: 'processing' } }),
    completing: waitingPage('completing', waiting),
    expired: closedPage('expired', closed, PROVIDER_DETAILS),
    refunded: closedPage('cancelled', { ...closed, payment }, PROVIDER_DETAILS),
    returning: closedPage('cancelled', { ...closed, payment: { ...payment, isOpen: true } }, PROVIDER_DETAILS),
    'approved-elsewhere': closedPage('approved-elsewhere', checkout, PROVIDER_DETAILS),
    'confirming-elsewhere': otherBrowserPage('confirming', waiting, { isSent: false }),
    redirecting: redirectPage({ ...checkout, application: PAID_LATER }),
    purged: completePage(checkout),
    unavailable: errorPage(SERVICE_UNAVAILABLE, path),
    'to-bank': leavingPage('Oak Bank', 'https://bank.example/', 'Your payment'),
    'too-many-requests': errorPage(TOO_MANY_REQUESTS),
  };
  for (const [name, rarePage] of Object.entries(rare)) {
    const { body } = renderPage(rarePage, checkout);
    expect(body.length).toBeLessThan(MAX_PAGE_BYTES);
    await page.setContent(body);
    await inspect(page, name);
  }
});

visit(
  'a shop that opens the checkout in a popup sees it as closed, as docs/sellers/going-live.md says',
  async ({ page }) => {
    const { url } = await newOrder();
    await page.goto(new URL('/thanks', shop.url).href);
    await page.setContent(`<button onclick="popup = window.open('${url}')">Pay</button>`);
    const [popup] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('button').click()]);
    await expectPage(popup, 'How would you like to pay?');
    expect(await page.evaluate('popup.closed')).toBe(true);
    expect(await popup.evaluate('opener')).toBeNull();
  },
);

visit('the sample documents are accessible', async ({ page }) => {
  for (const name of ['privacy', 'terms', 'credit-agreement']) {
    await page.goto(`${stack.api.url}/pay/documents/${name}/`);
    await page.getByText('This is a sample for tests.').waitFor();
    await inspect(page, name);
  }
});

inBrowser('no page called another host, violated its security policy or was not accessible', () => {
  expect(violations).toEqual([]);
});

inBrowser('no page was too large', () => {
  expect(sizes.length).toBeGreaterThan(50);
  expect(sizes.filter(({ bytes }) => !(bytes <= MAX_PAGE_BYTES))).toEqual([]);
});
