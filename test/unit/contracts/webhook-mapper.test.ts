import { readFileSync } from 'node:fs';
import path from 'node:path';
import { toOrderBody, toOrderFacts, toOrderStatusChanged } from '../../../src/contracts/order-mapper';
import { orderSchema } from '../../../src/contracts/order-schemas';
import { accountSchema } from '../../../src/contracts/seller-schema';
import { MAX_INTEREST_FREE_DAYS, type Order, stateOf } from '../../../src/domain/order';
import { PACKAGE_ROOT } from '../../../src/package';
import { accept } from '../../support/create-order-body';
import { IN_STATUS, atMinute } from '../../support/domain-orders';

const bodyOf = (order: Order, index: number, sequence: number) => {
  const then = { ...order, ...stateOf(order.changes.slice(0, index + 1), null) };
  return toOrderStatusChanged(order.changes[index]!, toOrderBody(then, 'https://checkout.example'), sequence);
};

test('a webhook contains the order after the change, the previous status, the event, the actor and the reason', () => {
  const order = IN_STATUS.SUCCESSFUL;
  expect(bodyOf(order, 2, 2)).toEqual({
    type: 'order.status_changed',
    timestamp: atMinute(2),
    data: {
      order: {
        id: order.id,
        amount: 1234.5,
        reference: 'order 17',
        redirect_url: order.redirectUrl,
        webhook_url: order.webhookUrl,
        created_at: order.createdAt,
        updated_at: atMinute(2),
        pricing: { representative_interest: 0, promotions: [] },
        pay_link_id: order.payLinkId,
        seller_name: 'Test Shop Ltd',
        status: 'APPROVED',
        allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
        order_url: `https://checkout.example/pay/${order.payLinkId}/`,
      },
      previous_status: 'PENDING',
      event: 'approved',
      sequence: 2,
      actor: 'checkout',
      reason: null,
    },
  });
});

test('a webhook with the longest value in each field has at most the 100,000 bytes that docs/sellers/webhooks.md states', () => {
  const [url, emoji] = [`https://shop.example/${'a'.repeat(2027)}`, '😀'];
  const promotion = { name: emoji.repeat(100), interest_free_days: MAX_INTEREST_FREE_DAYS, valid_until: '2027-01-31' };
  const account = accountSchema(true).parse({
    name: emoji.repeat(255),
    cancel_url: url,
    pricing: { promotions: Array(20).fill(promotion) },
  });
  const given = accept({
    reference: emoji.repeat(255),
    redirect_url: url,
    webhook_url: url,
    source: emoji.repeat(100),
    meta_data: { a: 'x'.repeat(16 * 1024 - '{"a":""}'.length) },
  });
  const order = IN_STATUS.UNSUCCESSFUL;
  const { pricing, name } = account;
  const seller = { id: order.sellerId, name: name!, sandbox: true, pricing: pricing!, defaultRedirectUrl: null };
  const largest: Order = {
    ...order,
    ...toOrderFacts(given, { ...seller, defaultCancelUrl: account.cancel_url! }, order),
    expiresAt: order.createdAt,
    cancelledAt: order.createdAt,
    completedAt: order.createdAt,
    status: 'SUCCESSFUL',
    settlement: { reference: emoji.repeat(255), feePence: Number.MAX_SAFE_INTEGER, payoutDate: '2027-01-31' },
    paymentTerm: 'PAY_LATER',
  };
  const body = toOrderBody(largest, `https://checkout.example/${'a'.repeat(1000)}`);
  expect(Object.keys(body).sort()).toEqual(Object.keys(orderSchema.shape).sort());
  const change = { ...order.changes.at(-1)!, reason: emoji.repeat(500) };
  const bytes = Buffer.byteLength(JSON.stringify(toOrderStatusChanged(change, body, 3)));
  expect(bytes).toBeGreaterThan(35_000);
  expect(bytes).toBeLessThanOrEqual(100_000);
  expect(readFileSync(path.join(PACKAGE_ROOT, 'docs/sellers/webhooks.md'), 'utf8')).toContain('at most 100,000 bytes');
});
