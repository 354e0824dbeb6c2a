import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { newCustomer, statusOfOrder } from '../support/checkout';
import { inBrowserConcurrently, launchChromium } from '../support/chromium';
import { apply, choose, expectDelivered, expectPage, payAtBank } from '../support/customer-steps';
import { useReceiver } from '../support/receiver';
import { useSharedStack } from '../support/shared-stack';
import { startShop } from '../support/shop';
import { useResource } from '../support/use-resource';

// The journeys that matter most. test/extended/checkout-browser.test.ts has every page, its accessibility and the
// journeys that go wrong.

afterAll(() => browser.close());
const stack = useSharedStack();
const receiver = useReceiver();
const shop = useResource(
  () => startShop(() => stack.api),
  (shop) => shop.stop(),
);
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});

/** A test in a browser context of its own, at the same time as the others. */
const journey = (title: string, run: (visit: { page: Page }) => Promise<void>, options: BrowserContextOptions = {}) =>
  inBrowserConcurrently(title, async () => {
    const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 390, height: 844 }, ...options });
    context.setDefaultTimeout(60_000);
    await run({ page: await context.newPage() }).finally(() => context.close());
  });

const newOrder = () => newCustomer(stack, { webhook_url: receiver.url, redirect_url: shop.url });

journey(
  'an approved customer gets from the link to the shop without JavaScript, and the shop reads SUCCESSFUL by then',
  async ({ page }) => {
    const { id, url } = await newOrder();
    await page.goto(url);
    await choose(page, 'Pay later');
    await apply(page);
    await expectPage(page, 'You are approved');
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Agree and complete order' }).click();
    await expectPage(page, 'Thanks for your order');
    expect(new URL(page.url()).pathname).toBe('/thanks');
    expect(shop.visits.filter(({ orderId }) => orderId === id)).toEqual([{ orderId: id, status: 'SUCCESSFUL' }]);
    await expectDelivered(receiver, id, ['PENDING', 'APPROVED', 'SUCCESSFUL']);
  },
  { javaScriptEnabled: false },
);

journey(
  'a customer who pays now chooses a bank, approves the payment there and returns to the shop',
  async ({ page }) => {
    const { url, id } = await newOrder();
    await page.goto(url);
    await page.getByLabel('Pay now').check();
    await page.getByRole('button', { name: 'Continue' }).click();
    await expectPage(page, 'Choose your bank');
    await payAtBank(page, 'approved');
    await expectPage(page, 'Your order is complete');
    expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
    await expectPage(page, 'Thanks for your order');
    await expectDelivered(receiver, id, ['PENDING', 'APPROVED', 'SUCCESSFUL']);
  },
  { javaScriptEnabled: false },
);

journey('a customer who is declined for Pay later pays now instead', async ({ page }) => {
  const { url, id } = await newOrder();
  await page.goto(url);
  await choose(page, 'Pay later');
  await apply(page, { email: 'declined@bloggs.example' });
  await expectPage(page, 'Pay later was not approved');
  expect(await statusOfOrder(stack, id)).toBe('PENDING');
  await payAtBank(page, 'approved');
  await expectPage(page, 'Thanks for your order');
  await expectDelivered(receiver, id, ['PENDING', 'APPROVED', 'SUCCESSFUL']);
});
