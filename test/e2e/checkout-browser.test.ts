import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Page as CheckoutPage } from '../../src/checkout/page';
import { renderPage } from '../../src/checkout/page';
import { endedPage, paidPage } from '../../src/checkout/pages/ended';
import { TOO_MANY, UNAVAILABLE, troublePage } from '../../src/checkout/pages/trouble';
import { waitingPage } from '../../src/checkout/pages/waiting';
import { findOrder } from '../../src/db/find-orders';
import { BUSINESS, startCheckout } from '../support/checkout';
import { CHROMIUM, launchChromium } from '../support/chromium';
import type { Shot } from '../support/inspect-page';
import { faultsOf, sheet, shoot } from '../support/inspect-page';
import { isRunning } from '../support/orders';
import type { Receiver } from '../support/receiver';
import { startReceiver } from '../support/receiver';
import type { Shop } from '../support/shop';
import { startShop } from '../support/shop';
import type { Stack } from '../support/stack';
import { until } from '../support/until';

/** Where `SCREENSHOTS=docs/images npx jest test/e2e/checkout-browser` puts its pictures. */
const { SCREENSHOTS } = process.env;
const MAX_PAGE_BYTES = 50 * 1024;
const EVIL = `"><img src=x onerror="document.title='hacked'"><script>document.title='hacked'</script>`;

jest.setTimeout(60_000);

// Which machine has one is not for the tests to say; CI's has: see .ci/run.
const inBrowser = CHROMIUM !== undefined || process.env.CI ? test : test.skip;

let stack: Stack;
let receiver: Receiver;
let shop: Shop;
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** What no page may do: speak to another host, break its own policy, weigh too much, fail a check of axe-core. */
const faults: string[] = [];
const shots: Shot[] = [];

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  receiver = await startReceiver();
  shop = await startShop(() => stack.api);
  stack = await startCheckout({ env: { SANDBOX_REFERRAL_MS: '4000' } });
  await stack.db.query(
    `update seller set name = 'Harbour & Pine', brand_colour = '#0f5c4a', pricing = $2 where id = $1`,
    [
      stack.seller.id,
      {
        representativeInterest: 12.9,
        promotions: [
          { name: 'Spring offer', interestFreeDays: 30, validUntil: `${new Date().getFullYear() + 1}-03-31` },
        ],
      },
    ],
  );
  browser = await launchChromium();
  await stack.db.query("update seller set logo = $2, logo_type = 'image/png' where id = $1", [
    stack.seller.id,
    await drawLogo(),
  ]);
});
beforeEach(async () => {
  if (CHROMIUM === undefined) return;
  context = await newContext();
  page = await context.newPage();
});
afterEach(async () => {
  if (CHROMIUM === undefined) return;
  await context.close();
  expect(faults.splice(0)).toEqual([]);
});
afterAll(async () => {
  if (CHROMIUM === undefined) return;
  if (SCREENSHOTS) await keepShots(SCREENSHOTS);
  await browser.close();
  await stack.stop();
  await Promise.all([shop.stop(), receiver.stop()]);
});

async function drawLogo(): Promise<Buffer> {
  const blank = await browser.newPage({ viewport: { width: 40, height: 40 } });
  await blank.setContent(
    '<body style="margin:0;background:#0f5c4a;color:#fff;font:700 20px/40px sans-serif;text-align:center">HP',
  );
  const png = await blank.screenshot();
  await blank.close();
  return png;
}

async function newContext(options: { javaScriptEnabled?: boolean } = {}): Promise<BrowserContext> {
  const opened = await browser.newContext({ locale: 'en-GB', viewport: { width: 390, height: 844 }, ...options });
  opened.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    const isOurs = origin === stack.api.url || protocol === 'data:' || request.isNavigationRequest();
    if (!isOurs) faults.push(`asked ${request.url()}`);
  });
  opened.on('response', (response) => {
    if (!response.url().startsWith(`${stack.api.url}/pay/`) || response.status() === 303) return;
    void response.body().then(
      (body) => body.length > MAX_PAGE_BYTES && faults.push(`${response.url()} weighs ${body.length} bytes`),
      () => undefined,
    );
  });
  opened.on('console', (message) => {
    if (/Content.Security.Policy|Refused to/i.test(message.text())) faults.push(message.text());
  });
  opened.on('dialog', (dialog) => faults.push(`a dialog: ${dialog.message()}`));
  return opened;
}

async function newOrder(data: Record<string, unknown> = {}): Promise<{ id: string; url: string }> {
  const reference = `HP-2027-${String(Math.random()).slice(2, 8)}`;
  const answer = await stack.api.create({ reference, webhook_url: receiver.url, redirect_url: shop.url, ...data });
  const { id, order_url: url } = answer.body.data;
  await until(() => isRunning(stack.client, id), 'the workflow runs');
  return { id, url };
}
const heading = (on: Page = page) => on.locator('h1').textContent();
const isAt = async (title: string, on: Page = page) => {
  await on.locator('h1', { hasText: title }).waitFor();
  expect((await on.title()).startsWith(title) || title === 'Thanks for your order').toBe(true);
};
const statusOf = async (id: string): Promise<string> => (await stack.api.get(id)).body.data.status;
const toldOf = (id: string): string[] =>
  receiver.deliveries.filter(({ body }) => body.data.order.id === id).map(({ body }) => body.data.order.status);
const hears = async (id: string, ...statuses: string[]): Promise<void> => {
  await until(() => toldOf(id).length >= statuses.length, 'the webhooks came');
  expect(toldOf(id)).toEqual(statuses);
};

async function inspect(name: string, on: Page = page): Promise<void> {
  faults.push(...(await faultsOf(on)).map((fault) => `${name}: ${fault}`));
  if (SCREENSHOTS) shots.push(...(await shoot(on, name)));
}

async function keepShots(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const blank = await browser.newPage();
  for (const size of ['phone', 'desktop'] as const) {
    writeFileSync(path.join(folder, `checkout-${size}.png`), await sheet(blank, shots, size));
  }
  for (const { name, size, png } of shots) {
    if (['choice', 'schedule'].includes(name) && size === 'phone') {
      writeFileSync(path.join(folder, `checkout-${name}.png`), png);
    }
  }
}

async function choose(term: string, on: Page = page): Promise<void> {
  await on.getByLabel(term).check();
  await on.getByRole('button', { name: 'Continue' }).click();
  await isAt('About your business', on);
}

async function fill(more: Partial<typeof BUSINESS> = {}, on: Page = page): Promise<void> {
  for (const [name, value] of Object.entries({ ...BUSINESS, ...more })) await on.fill(`[name=${name}]`, value);
}

async function apply(more: Partial<typeof BUSINESS> = {}, on: Page = page): Promise<void> {
  await fill(more, on);
  await on.getByRole('button', { name: 'Send application' }).click();
}

inBrowser(
  'approved, without JavaScript: from the link to the shop, whose own GET says SUCCESSFUL when the customer comes',
  async () => {
    const plain = await newContext({ javaScriptEnabled: false });
    const on = await plain.newPage();
    const { id, url } = await newOrder();
    await on.goto(url);
    await choose('Pay later', on);
    await apply({}, on);
    await isAt('You are approved', on);
    await on.getByRole('checkbox').check();
    await on.getByRole('button', { name: 'Agree and complete order' }).click();
    await isAt('Thanks for your order', on);
    expect(new URL(on.url()).pathname).toBe('/thanks');
    expect(shop.visits.filter(({ orderId }) => orderId === id)).toEqual([{ orderId: id, status: 'SUCCESSFUL' }]);
    await hears(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
    await plain.close();
  },
);

inBrowser('each page of the way is fit for everybody, and can be walked by keyboard alone', async () => {
  const { url, id } = await newOrder();
  await page.goto(url);
  await isAt('How would you like to pay?');
  expect(await page.evaluate("document.querySelector('header img').naturalWidth")).toBe(40);
  await inspect('choice');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  expect(await page.getByLabel('Pay later').isChecked()).toBe(true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await isAt('About your business');
  await inspect('details');
  await page.locator('#business_name').focus();
  await page.keyboard.type('Bloggs & Daughters Ltd');
  await page.keyboard.press('Enter');
  await isAt('About your business').catch(() => undefined);
  expect(await page.title()).toBe('Error: About your business – Harbour & Pine');
  expect(await page.evaluate('document.activeElement.id')).toBe('company_number');
  await inspect('errors');
  await page.reload();
  expect(await page.inputValue('#business_name')).toBe('Bloggs & Daughters Ltd');
  for (const value of [BUSINESS.company_number, BUSINESS.email, BUSINESS.monthly_turnover]) {
    await page.keyboard.type(value);
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await isAt('You are approved');
  await inspect('schedule');
  await page.getByRole('button').click();
  await page.locator('#not-agreed').waitFor();
  await inspect('not-agreed');
  await page.keyboard.press('Space');
  expect(await page.getByRole('checkbox').isChecked()).toBe(true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await isAt('Thanks for your order');
  await page.goto(url);
  await isAt('Your order is complete');
  await inspect('paid');
  await page.emulateMedia({ media: 'print' });
  expect(await page.getByRole('link', { name: 'Back to' }).isVisible()).toBe(false);
  expect(await page.getByRole('table').isVisible()).toBe(true);
  expect(await page.getByText('no money moves').isVisible()).toBe(true);
  await hears(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
});

inBrowser('to pay now: one way to pay, one button to confirm', async () => {
  const { url, id } = await newOrder({ allowed_payment_terms: ['PAY_NOW'] });
  await page.goto(url);
  await isAt('Pay now');
  await inspect('pay-now');
  await page.getByRole('button', { name: 'Continue' }).click();
  await apply();
  await isAt('Confirm your payment');
  await inspect('payment');
  await page.getByRole('button', { name: 'Pay £1,234.50' }).click();
  await isAt('Thanks for your order');
  expect(await statusOf(id)).toBe('SUCCESSFUL');
});

inBrowser(
  'referred: the page waits, turns by itself when the lender has decided, and stands still where asked to',
  async () => {
    const { url, id } = await newOrder();
    await page.goto(url);
    await choose('Pay later');
    await apply({ email: 'referred@bloggs.example' });
    await isAt('The lender is taking a closer look');
    const still = await context.newPage();
    await still.goto(`${url}?still`);
    await inspect('referred', still);
    await page.getByRole('heading', { name: 'You are approved' }).waitFor({ timeout: 20_000 });
    expect(await heading(still)).toBe('The lender is taking a closer look');
    await still.getByRole('link', { name: 'Check now' }).click();
    await isAt('You are approved', still);
    await hears(id, 'PENDING', 'APPROVED');
  },
);

inBrowser.each([
  ['declined', 'Your application was not approved'],
  ['failed', 'Something went wrong'],
])('%s: told kindly, with a way back to the shop that is not the one of a completed order', async (kind, title) => {
  const { url, id } = await newOrder();
  await page.goto(url);
  await choose('Pay later');
  await apply({ email: `${kind}@bloggs.example` });
  await isAt(title);
  await inspect(kind);
  expect(await page.getByRole('link', { name: 'Back to Harbour & Pine' }).getAttribute('href')).toBe(
    `${new URL(shop.url).origin}/`,
  );
  await hears(id, 'PENDING', 'UNSUCCESSFUL');
  expect(shop.visits.some(({ orderId }) => orderId === id)).toBe(false);
});

inBrowser('cancelled by the seller half way: the next step says so, and so does the back button', async () => {
  const { url, id } = await newOrder();
  await page.goto(url);
  await choose('Pay later');
  await fill();
  expect((await stack.api.cancel(id)).status).toBe(200);
  await page.getByRole('button', { name: 'Send application' }).click();
  await isAt('This order was cancelled');
  await inspect('cancelled');
  await page.goBack();
  await isAt('This order was cancelled');
  await hears(id, 'PENDING', 'UNSUCCESSFUL');
});

inBrowser('two tabs: each tells where the order stands, and one payment is made', async () => {
  const { url, id } = await newOrder();
  const other = await context.newPage();
  await Promise.all([page.goto(url), other.goto(url)]);
  await choose('Pay later');
  await choose('Pay now', other);
  await apply();
  await page.getByText('In another window you have since chosen: pay now.').waitFor();
  await inspect('chosen-elsewhere');
  await page.getByRole('button', { name: 'Send application' }).click();
  await isAt('Confirm your payment');
  await apply({ business_name: 'Another Ltd' }, other);
  await isAt('Confirm your payment', other);
  expect(await other.getByRole('status').textContent()).toContain('What you sent just now was not used');
  await page.getByRole('button', { name: 'Pay' }).click();
  await isAt('Thanks for your order');
  await other.getByRole('button', { name: 'Pay' }).click();
  await isAt('Thanks for your order', other);
  await hears(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
});

inBrowser('a double click, a reload and the back button at every step make one order of one customer', async () => {
  const { url, id } = await newOrder();
  await page.goto(url);
  await page.getByLabel('Pay later').check();
  await page.getByRole('button', { name: 'Continue' }).dblclick();
  await isAt('About your business');
  await fill();
  await page.getByRole('button', { name: 'Send application' }).dblclick();
  await isAt('You are approved');
  await page.reload();
  await isAt('You are approved');
  expect(await page.getByRole('status').count()).toBe(0);
  await page.goBack();
  await page.getByRole('heading', { name: 'You are approved' }).waitFor();
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Agree' }).dblclick();
  await isAt('Thanks for your order');
  await page.goBack();
  await isAt('Your order is complete');
  await hears(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
});

inBrowser('script and HTML in every field, in the reference and in the seller do nothing', async () => {
  const rename = (name: string) => stack.db.query('update seller set name = $2 where id = $1', [stack.seller.id, name]);
  await rename(`Shop ${EVIL}`);
  const { url } = await newOrder({ reference: `ref ${EVIL}` });
  await rename('Harbour & Pine');
  await page.goto(url);
  await choose('Pay later');
  await apply({ business_name: EVIL, company_number: EVIL, email: EVIL, monthly_turnover: EVIL });
  expect(await page.inputValue('#company_number')).toBe(EVIL);
  expect(await page.title()).not.toBe('hacked');
  expect(await page.locator('main img, script').count()).toBe(0);
  await apply({ business_name: EVIL });
  await isAt('You are approved');
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Agree' }).click();
  await isAt('Thanks for your order');
});

inBrowser('a form from another site is refused, and so is showing the page in a frame', async () => {
  const { url, id } = await newOrder();
  await page.goto(url);
  const token = await page.locator('[name=form_token]').getAttribute('value');
  const attacker = await context.newPage();
  await attacker.goto(`${new URL(shop.url).origin.replace('127.0.0.1', 'localhost')}/evil`);
  await attacker.setContent(`<iframe src="${url}"></iframe><form method="post" action="${url}choice/">
    <input name="form_token" value="${token}"><input name="payment_term" value="PAY_LATER"><button>Win</button></form>`);
  await attacker.getByRole('button').click();
  await isAt('We could not take this form', attacker);
  await inspect('refused', attacker);
  expect(await statusOf(id)).toBe('CREATED');
  // The browser says so itself, and that is what this test wants.
  expect(faults.filter((fault) => /frame-ancestors/.test(fault)).length).toBeGreaterThan(0);
  faults.splice(0, faults.length, ...faults.filter((fault) => !/frame-ancestors/.test(fault)));
});

inBrowser('a link that is unknown says so', async () => {
  await page.goto(`${stack.api.url}/pay/00000000-0000-4000-8000-000000000000/`);
  await isAt('There is no order at this link');
  await inspect('unknown');
});

inBrowser('the pages that few customers see are fit for everybody, too', async () => {
  const { id } = await newOrder();
  const stored = (await findOrder(stack.db, id))!;
  const checkout = {
    ...stored,
    application: undefined,
    branding: { shopUrl: null, colour: '#ffd400', hasLogo: false },
  };
  const waiting = { path: '/pay/x', since: new Date(0), isStill: false, now: new Date() };
  const rare: Record<string, CheckoutPage> = {
    asking: waitingPage({ ...waiting, stage: 'waiting' }),
    completing: waitingPage({ ...waiting, stage: 'completing' }),
    expired: endedPage('expired', checkout),
    elsewhere: endedPage('approved-elsewhere', checkout),
    forgotten: paidPage(checkout),
    unavailable: troublePage(UNAVAILABLE, '/pay/x'),
    'too-many': troublePage(TOO_MANY),
  };
  for (const [name, one] of Object.entries(rare)) {
    await page.setContent(renderPage(one, { ...checkout, path: '/pay/x' }, 'A notice').body);
    await inspect(name);
  }
});
