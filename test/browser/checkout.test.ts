import { statusOfOrder } from '../support/checkout';
import { useCustomers } from '../support/customer-browser';
import { apply, expectPage, payAtBank } from '../support/customer-steps';
import { useSharedStack } from '../support/shared-stack';

// The journeys that matter most. test/extended/checkout-browser.test.ts has every page, its accessibility and the
// journeys that go wrong.

const stack = useSharedStack();
const { visit, shop, startApplication, startPayment, expectWebhooks } = useCustomers(stack);

visit(
  'an approved customer gets from the link to the shop without JavaScript, and the shop reads SUCCESSFUL by then',
  async ({ page }) => {
    const { id } = await startApplication(page);
    await apply(page);
    await expectPage(page, 'You are approved');
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Agree and complete order' }).click();
    await expectPage(page, 'Thanks for your order');
    expect(new URL(page.url()).pathname).toBe('/thanks');
    expect(shop.visits.filter(({ orderId }) => orderId === id)).toEqual([{ orderId: id, status: 'SUCCESSFUL' }]);
    await expectWebhooks(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
  },
  { javaScriptEnabled: false },
);

visit(
  'a customer who pays now chooses a bank, approves the payment there and returns to the shop',
  async ({ page }) => {
    const { id } = await startPayment(page);
    await payAtBank(page, 'approved');
    await expectPage(page, 'Your order is complete');
    expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
    await expectPage(page, 'Thanks for your order');
    await expectWebhooks(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
  },
  { javaScriptEnabled: false },
);

visit('a customer who is declined for Pay later pays now instead', async ({ page }) => {
  const { id } = await startApplication(page);
  await apply(page, { email: 'declined@bloggs.example' });
  await expectPage(page, 'Pay later was not approved');
  expect(await statusOfOrder(stack, id)).toBe('PENDING');
  await payAtBank(page, 'approved');
  await expectPage(page, 'Thanks for your order');
  await expectWebhooks(id, 'PENDING', 'APPROVED', 'SUCCESSFUL');
});
