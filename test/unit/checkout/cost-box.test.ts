import { costBox } from '../../../src/checkout/pages/cost-box';
import { ORDER } from '../../support/domain-orders';

test.each([
  [undefined, '<dt>Interest</dt>'],
  [7.5, '<dt>Interest at 7.5% a year</dt>'],
])('an offer at the rate %p shows %s, whatever the representative interest of the account', (annualInterest, shown) => {
  const order = { ...ORDER, pricing: { representativeInterest: 12.9, promotions: [] } };
  const instalments = [{ dueInMonths: 1, amountPence: order.amountPence + 500 }];
  const offer = { instalments, ...(annualInterest !== undefined && { annualInterest }) };
  expect(costBox(order, offer, 'What you agree to').text).toContain(shown);
});
