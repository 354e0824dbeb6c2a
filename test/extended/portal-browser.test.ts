import { type Browser, type BrowserContext, type Page } from 'playwright-core';
import { updateSeller } from '../../src/db/sellers';
import { inBrowser, launchChromium } from '../support/chromium';
import { findViolations } from '../support/inspect-page';
import { openOrder } from '../support/orders';
import { portalVisitor } from '../support/portal';
import { useReceiver } from '../support/receiver';
import { useSharedStack } from '../support/shared-stack';
import { withNewSeller } from '../support/stack';
import { until } from '../support/until';
import { useResource } from '../support/use-resource';

jest.setTimeout(300_000);

const stack = useSharedStack();
const receiver = useReceiver();
const chromium = useResource<{ browser: Browser }>(
  async () => ({ browser: await launchChromium() }),
  ({ browser }) => browser.close(),
);
const LONG_NAME = 'Mountaineering & Outdoor Equipment Wholesalers (North) Limited';
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };
/** Set to a folder to keep a picture of each page. */
const SCREENSHOTS = process.env.SCREENSHOTS;

/** A shop with orders in every status, a webhook that was accepted and some that were not, and its pages. */
async function newShop() {
  const { seller, api } = await withNewSeller(stack, { sandbox: true });
  await updateSeller(stack.db, seller.id, { name: LONG_NAME });
  const order = (data: Record<string, unknown>, events: string[]) => openOrder({ ...stack, api }, data, events);
  const paid = await order({ webhook_url: receiver.url, reference: 'HP-2027-000123' }, [
    ...['signup_started', 'approved', 'completed'],
  ]);
  await order({ reference: 'A-very-long-reference-without-a-space-'.repeat(5) }, ['signup_started']);
  await order({ amount: 999_999.99, source: 'woocommerce' }, []);
  receiver.answerWith(404);
  const failing = await order({ webhook_url: receiver.url, amount: 834_567.89 }, ['signup_started', 'declined']);
  await until(async () => {
    const { rows } = await stack.db.query(
      `select from webhook_attempt a join webhook_event e on e.id = a.event_id where e.order_id = $1`,
      [failing],
    );
    return rows.length > 0;
  }, 'a webhook has failed');
  const { rows } = await stack.db.query('select id from api_key where seller_id = $1', [seller.id]);
  const visitor = portalVisitor({ api, seller });
  const pages = {
    overview: '/portal/overview/',
    orders: '/portal/orders/',
    'no-orders': '/portal/orders/?q=nothing',
    order: `/portal/orders/${failing}/`,
    'paid-order': `/portal/orders/${paid}/`,
    cancel: `/portal/orders/${paid}/cancel/`,
    webhooks: '/portal/webhooks/?done=resending',
    developers: '/portal/developers/?replaces=https://old-shop.example',
    revoke: `/portal/developers/keys/${rows[0].id}/revoke/`,
    'not-found': '/portal/nothing/',
  };
  return { pages, link: (session?: object) => visitor.link(session) };
}
const shop = useResource(newShop, () => Promise.resolve());

/** Signs in as a person does: opens the link and presses its button. */
async function signIn(options: Parameters<Browser['newContext']>[0] = {}, session: object = { user: 'Ada Lovelace' }) {
  const context = await chromium.browser.newContext({ locale: 'en-GB', viewport: PHONE, ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.goto(stack.api.url + (await shop.link(session)));
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return { context, page, close: () => context.close() };
}
const open = (page: Page, path: string) => page.goto(stack.api.url + path);

async function keepPicture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS !== undefined) await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}

/** What is wider than the screen, except in regions that scroll by themselves. */
const TOO_WIDE = `(() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page');
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('.scroll, .visually-hidden, .skip, pre, svg')) continue;
    if (element.getBoundingClientRect().right > innerWidth + 1) found.push(element.outerHTML.slice(0, 120));
  }
  return found;
})()`;

inBrowser(
  'every page is accessible on a phone and on a desktop, in both schemes, and calls no other host',
  async () => {
    const found: string[] = [];
    const watch = (context: BrowserContext): void => {
      context.on('request', (request) => {
        if (new URL(request.url()).origin !== stack.api.url) found.push(`requested ${request.url()}`);
      });
      context.on('console', (message) => found.push(message.text()));
    };
    for (const [screen, viewport] of [
      ['phone', PHONE],
      ['desktop', DESKTOP],
    ] as const) {
      const { context, page, close } = await signIn({ viewport });
      watch(context);
      for (const [name, path] of Object.entries(shop.pages)) {
        await page.setViewportSize(viewport);
        await open(page, path);
        if (name === 'overview') await page.locator('summary').click();
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          await keepPicture(page, `${name}-${screen}-${colorScheme}`);
        }
        found.push(...(await page.evaluate<string[]>(TOO_WIDE)).map((one) => `${screen} ${name}: too wide: ${one}`));
        found.push(...(await findViolations(page)).map((one) => `${screen} ${name}: ${one}`));
      }
      await close();
    }
    // The browser reports the page that does not exist.
    expect(found.filter((one) => !/status of 404/.test(one))).toEqual([]);
  },
);

inBrowser('the pages around a session are accessible: the link, its end, and an action’s result', async () => {
  const context = await chromium.browser.newContext({ viewport: PHONE });
  const page = await context.newPage();
  const found: string[] = [];
  const inspect = async (name: string) =>
    found.push(...(await findViolations(page)).map((violation) => `${name}: ${violation}`));
  await open(page, await shop.link());
  await inspect('link');
  await page.getByRole('button', { name: 'Open' }).click();
  await open(page, shop.pages.developers);
  await page.getByLabel('What the new key is for').fill('web shop');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('heading', { name: 'Your new API key' }).waitFor();
  await inspect('new key');
  await open(page, shop.pages.webhooks);
  await page.getByLabel('Send a test webhook to').fill(receiver.url);
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('heading', { name: 'The test webhook failed' }).waitFor();
  await inspect('test');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await inspect('signed out');
  await open(page, shop.pages.orders);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await inspect('no session');
  await context.close();
  expect(found).toEqual([]);
});

inBrowser('text of twice the size needs no sideways scrolling on a phone, except in the tables', async () => {
  const { page, close } = await signIn();
  const found: string[] = [];
  for (const [name, path] of Object.entries(shop.pages)) {
    await page.setViewportSize(PHONE);
    await open(page, path);
    if (name === 'overview') await page.locator('summary').click();
    // Like the setting of a browser. The policy of the page allows no other style.
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    expect(await page.evaluate('getComputedStyle(document.documentElement).fontSize')).toBe('32px');
    await keepPicture(page, `${name}-200`);
    found.push(...(await page.evaluate<string[]>(TOO_WIDE)).map((one) => `${name}: ${one}`));
  }
  await close();
  expect(found).toEqual([]);
});

/** Presses Tab through the whole page. @returns the name of each stop, and whether its focus is visible */
async function tabStops(page: Page): Promise<string[]> {
  const stops: string[] = [];
  for (let count = 0; count < 200; count += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate<string | null>(`(() => {
      const { activeElement: at } = document;
      if (at === document.body) return null;
      // A date has several stops in one field.
      if (at.dataset.seen) return at.type === 'date' ? '' : null;
      at.dataset.seen = '1';
      const { width, height } = at.getBoundingClientRect();
      const visible = width > 1 && height > 1 && getComputedStyle(at).outlineStyle !== 'none';
      return (visible ? '' : 'INVISIBLE ') + (at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText).trim();
    })()`);
    if (stop === null) return stops;
    if (stop !== '') stops.push(stop);
  }
  throw new Error('Tab does not leave the page');
}

inBrowser('the keyboard alone reaches everything in the order of the page, and can do it', async () => {
  const { page, close } = await signIn({ viewport: DESKTOP });
  for (const path of Object.values(shop.pages)) {
    await open(page, path);
    const expected = await page
      .locator('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')
      .filter({ visible: true })
      .count();
    const stops = await tabStops(page);
    expect(stops.slice(0, 6)).toEqual([
      ...['Skip to the content', 'Overview', 'Orders', 'Webhooks', 'Developers', 'Sign out'],
    ]);
    expect(stops.filter((stop) => stop.startsWith('INVISIBLE'))).toEqual([]);
    expect([path, stops.length]).toEqual([path, expected]);
  }

  await open(page, shop.pages.orders);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.id')).toBe('q');
  await page.keyboard.type('HP-2027-000123');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'HP-2027-000123' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Order HP-2027-000123' }).waitFor();
  const resend = page.getByRole('button', { name: 'Resend webhook 1' });
  await resend.focus();
  await page.keyboard.press('Enter');
  await page.getByText('The webhook is being sent again.').waitFor();
  await close();
});
