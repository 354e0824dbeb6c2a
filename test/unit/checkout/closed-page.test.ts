import { closedPage } from '../../../src/checkout/pages/closed';
import { atMinute, orderAfter } from '../../support/domain-orders';
import { PROVIDER_DETAILS, viewOf } from '../../support/provider-details';

test('the page of an expired order states its deadline, however late the expiry was recorded', () => {
  const order = orderAfter('expired');
  const late = order.changes.map((change) => (change.event === 'expired' ? { ...change, at: atMinute(180) } : change));
  const { content } = closedPage(
    'expired',
    viewOf({ order: { ...order, expiresAt: atMinute(60), changes: late } }),
    PROVIDER_DETAILS,
  );
  expect(content.text).toContain('It had to be completed by 1 March 2026 at 11:00 GMT.');
});
