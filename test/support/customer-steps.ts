import type { Page } from 'playwright-core';
import { BUSINESS } from './checkout';
import type { Receiver } from './receiver';
import { until } from './until';

/** Waits for a page of the checkout, or of the shop, with this heading. */
export async function expectPage(on: Page, title: string): Promise<void> {
  await on.locator('h1', { hasText: title }).waitFor();
  expect((await on.title()).startsWith(title) || title === 'Thanks for your order').toBe(true);
}

/** Waits until the receiver has got as many webhooks of an order, and compares the statuses in them. */
export async function expectDelivered(receiver: Receiver, orderId: string, statuses: string[]): Promise<void> {
  const delivered = (): string[] =>
    receiver.deliveries.filter(({ body }) => body.data.order.id === orderId).map(({ body }) => body.data.order.status);
  await until(() => delivered().length >= statuses.length, 'the webhooks came');
  expect(delivered()).toEqual(statuses);
}

export async function choose(on: Page, term: string): Promise<void> {
  await on.getByLabel(term).check();
  await on.getByRole('button', { name: 'Continue' }).click();
  await expectPage(on, 'About your business');
}

/** Chooses a bank, and what a test customer does on the bank's page. */
export async function payAtBank(on: Page, customer: string): Promise<void> {
  await on.getByLabel('Oak Bank').check();
  await on.getByRole('button', { name: 'Continue to your bank' }).click();
  await on.getByRole('heading', { name: 'Approve a payment' }).waitFor();
  await on.locator(`#${customer}`).check();
  await on.getByRole('button', { name: 'Approve payment' }).click();
}

/** Fills in the application: by default one that the sandbox lender approves. */
export async function fill(on: Page, more: Partial<typeof BUSINESS> = {}): Promise<void> {
  for (const [name, value] of Object.entries({ ...BUSINESS, ...more })) await on.fill(`[name=${name}]`, value);
}

export async function apply(on: Page, more: Partial<typeof BUSINESS> = {}): Promise<void> {
  await fill(on, more);
  await on.getByRole('button', { name: 'Submit application' }).click();
}
