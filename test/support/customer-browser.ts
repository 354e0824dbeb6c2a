import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { newCustomer } from './checkout';
import { inBrowserConcurrently, launchChromium } from './chromium';
import { choose, expectDelivered, expectPage } from './customer-steps';
import { useReceiver } from './receiver';
import { startShop } from './shop';
import type { SharedStack } from './stack';
import { useResource } from './use-resource';

interface Visit {
  page: Page;
  context: BrowserContext;
}

/**
 * A browser for the customers of a test file, with a shop that they return to.
 * @param watch is called with each browser context before its first page
 */
export function useCustomers(stack: SharedStack, watch: (context: BrowserContext) => void = () => undefined) {
  const chromium = useResource<{ browser: Browser }>(
    async () => ({ browser: await launchChromium() }),
    ({ browser }) => browser.close(),
  );
  const receiver = useReceiver();
  const shop = useResource(
    () => startShop(() => stack.api),
    (started) => started.stop(),
  );

  /** A phone, with cookies of its own. */
  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    const phone = { locale: 'en-GB', viewport: { width: 390, height: 844 } };
    const context = await chromium.browser.newContext({ ...phone, ...options });
    context.setDefaultTimeout(60_000);
    watch(context);
    return context;
  };

  /** A test in a context of its own. The tests run at the same time, because most of them wait most of the time. */
  const visit = (title: string, run: (visit: Visit) => Promise<void>, options: BrowserContextOptions = {}): void =>
    inBrowserConcurrently(title, async () => {
      const context = await newContext(options);
      try {
        await run({ context, page: await context.newPage() });
      } finally {
        await context.close();
      }
    });

  const newOrder = (data: Record<string, unknown> = {}): Promise<{ id: string; url: string }> => {
    const reference = `HP-2027-${String(Math.random()).slice(2, 8)}`;
    return newCustomer(stack, { reference, webhook_url: receiver.url, redirect_url: shop.url, ...data });
  };

  /** Opens a new order, and its application to pay later. */
  const startApplication = async (page: Page, data: Record<string, unknown> = {}) => {
    const order = await newOrder(data);
    await page.goto(order.url);
    await choose(page, 'Pay later');
    return order;
  };

  /** Opens a new order, and the choice of a bank. */
  const startPayment = async (page: Page) => {
    const order = await newOrder();
    await page.goto(order.url);
    await page.getByLabel('Pay now').check();
    await page.getByRole('button', { name: 'Continue' }).click();
    await expectPage(page, 'Choose your bank');
    return order;
  };

  const expectWebhooks = (id: string, ...statuses: string[]) => expectDelivered(receiver, id, statuses);

  return { chromium, shop, newContext, visit, newOrder, startApplication, startPayment, expectWebhooks };
}
