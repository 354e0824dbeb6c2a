import { redirectPage } from '../../../src/checkout/pages/complete';
import { orderAfter } from '../../support/domain-orders';
import { PAID_LATER, viewOf } from '../../support/provider-details';

const order = orderAfter('signup_started', 'approved', 'completed');

test.each([
  ['the repayments', PAID_LATER, 15],
  ['no repayments', undefined, 4],
  ['no repayments, because nobody agreed to them,', { ...PAID_LATER, agreedAt: null }, 4],
])('a receipt with %s states before all else that it continues to the shop', (_, application, seconds) => {
  const { content, refresh } = redirectPage(viewOf({ order, application }));
  expect(refresh).toEqual({ afterSeconds: seconds, url: order.redirectUrl });
  const [, afterHeading = ''] = content.text.split('</h1>');
  expect(afterHeading.replace(/\s+/g, ' ')).toMatch(
    /^ <p class="message"> This page takes you back to [^<\d]+ in a moment\. <a href="\/pay\/x\/">Stay on this page<\/a>/,
  );
  expect(content.text.includes('Your repayments')).toBe(seconds === 15);
});
