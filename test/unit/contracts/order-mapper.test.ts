import { toOrderBody } from '../../../src/contracts/order-mapper';
import { IN_STATUS, ORDER, orderAfter, atMinute } from '../../support/domain-orders';

const CHECKOUT = 'https://checkout.example';

describe('the body of a retrieve response', () => {
  test('shows a cancel URL, a webhook URL and an expiry only if the order has them', () => {
    const more = { cancelUrl: 'https://shop.example/cart', expiresAt: atMinute(60) };
    expect(toOrderBody({ ...ORDER, ...more }, CHECKOUT)).toMatchObject({
      cancel_url: more.cancelUrl,
      expires_at: more.expiresAt,
    });
    const without = toOrderBody({ ...ORDER, webhookUrl: null }, CHECKOUT);
    for (const field of ['cancel_url', 'webhook_url', 'expires_at']) expect(without).not.toHaveProperty(field);
  });

  test('has the settlement only if the order is SUCCESSFUL', () => {
    const settlement = { reference: 'PO-17', feePence: 1235, payoutDate: '2026-03-03' };
    expect(toOrderBody({ ...IN_STATUS.SUCCESSFUL, settlement }, CHECKOUT).settlement).toEqual({
      reference: 'PO-17',
      fee: 12.35,
      payout_date: '2026-03-03',
    });
    expect(toOrderBody(IN_STATUS.SUCCESSFUL, CHECKOUT)).not.toHaveProperty('settlement');
    for (const status of ['APPROVED', 'UNSUCCESSFUL'] as const)
      expect(toOrderBody({ ...IN_STATUS[status], settlement }, CHECKOUT)).not.toHaveProperty('settlement');
  });

  test('says why the order is UNSUCCESSFUL, also after a later cancel, and when it last changed', () => {
    const bodyAfter = (...events: Parameters<typeof orderAfter>) => toOrderBody(orderAfter(...events), CHECKOUT);
    expect(bodyAfter('signup_started', 'declined')).toMatchObject({ unsuccessful_reason: 'declined' });
    expect(bodyAfter('failed')).toMatchObject({ unsuccessful_reason: 'failed', updated_at: atMinute(1) });
    expect(bodyAfter('expired')).toMatchObject({ unsuccessful_reason: 'expired' });
    expect(bodyAfter('cancel')).toMatchObject({ unsuccessful_reason: 'cancelled' });
    expect(bodyAfter('signup_started', 'declined', 'cancel')).toMatchObject({
      unsuccessful_reason: 'declined',
      updated_at: atMinute(3),
    });
    expect(bodyAfter('signup_started', 'approved', 'completed')).not.toHaveProperty('unsuccessful_reason');
  });
});
