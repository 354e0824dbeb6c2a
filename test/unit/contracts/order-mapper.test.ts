import { toCreatedOrderBody, toOrderBody } from '../../../src/contracts/order-mapper';
import { createdOrderSchema, orderSchema } from '../../../src/contracts/order-schemas';
import type { Order } from '../../../src/domain/order';
import { CREATED_AT, IN_STATUS, ORDER, orderAfter, atMinute } from '../../support/domain-orders';

const CHECKOUT = 'https://checkout.example';

const PROMOTED: Order = {
  ...ORDER,
  pricing: {
    representativeInterest: 9.9,
    promotions: [{ name: 'Spring', interestFreeDays: 90, validUntil: '2027-01-31' }],
  },
};

describe('the body of a create response', () => {
  test('has exactly the fields of section 2.1 of the specification', () => {
    expect(toCreatedOrderBody(ORDER, CHECKOUT)).toEqual({
      id: ORDER.id,
      amount: 1234.5,
      reference: 'order 17',
      order_url: `https://checkout.example/pay/${ORDER.payLinkId}/`,
      status: 'CREATED',
      allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
    });
  });

  test('matches its schema', () => {
    expect(createdOrderSchema.strict().safeParse(toCreatedOrderBody(ORDER, CHECKOUT)).error).toBeUndefined();
  });
});

describe('the body of a retrieve response', () => {
  test('has the fields of section 2.1 of the specification, order_url, webhook_url and created_at', () => {
    expect(toOrderBody(ORDER, CHECKOUT)).toEqual({
      id: ORDER.id,
      amount: 1234.5,
      reference: 'order 17',
      redirect_url: `https://shop.example/done?orderId=${ORDER.id}`,
      pricing: { representative_interest: 0, promotions: [] },
      pay_link_id: ORDER.payLinkId,
      seller_name: 'Test Shop Ltd',
      status: 'CREATED',
      allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
      order_url: `https://checkout.example/pay/${ORDER.payLinkId}/`,
      webhook_url: 'https://shop.example/hooks',
      created_at: CREATED_AT,
      updated_at: CREATED_AT,
    });
  });

  test('shows a cancel URL, a webhook URL and an expiry only if the order has them', () => {
    const more = { cancelUrl: 'https://shop.example/cart', expiresAt: atMinute(60) };
    expect(toOrderBody({ ...ORDER, ...more }, CHECKOUT)).toMatchObject({
      cancel_url: more.cancelUrl,
      expires_at: more.expiresAt,
    });
    const without = toOrderBody({ ...ORDER, webhookUrl: null }, CHECKOUT);
    for (const field of ['cancel_url', 'webhook_url', 'expires_at']) expect(without).not.toHaveProperty(field);
  });

  test('has every field of a promotion', () => {
    expect(toOrderBody(PROMOTED, CHECKOUT).pricing).toEqual({
      representative_interest: 9.9,
      promotions: [{ name: 'Spring', interest_free_days: 90, valid_until: '2027-01-31' }],
    });
  });

  test('has cancelled_at only if the order was cancelled', () => {
    expect(toOrderBody(orderAfter('cancel'), CHECKOUT).cancelled_at).toBe(atMinute(1));
    expect(toOrderBody(IN_STATUS.UNSUCCESSFUL, CHECKOUT)).not.toHaveProperty('cancelled_at');
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

  test('has source and meta_data as they were sent, and omits them if they were not', () => {
    const metaData = { 10: 1.1, 9: [{}] };
    const body = toOrderBody({ ...ORDER, source: 'magento', metaData }, CHECKOUT);
    expect(body.source).toBe('magento');
    expect(body.meta_data).toEqual(metaData);
    expect(toOrderBody(ORDER, CHECKOUT)).not.toHaveProperty('source');
    expect(toOrderBody(ORDER, CHECKOUT)).not.toHaveProperty('meta_data');
  });

  test("omits the seller's id and the version", () => {
    const text = JSON.stringify(toOrderBody(ORDER, CHECKOUT));
    for (const internal of [ORDER.sellerId, 'version']) expect(text).not.toContain(internal);
  });

  test('matches its schema in every status', () => {
    for (const order of [...Object.values(IN_STATUS), orderAfter('cancel'), PROMOTED]) {
      const body = toOrderBody({ ...order, source: 'x', metaData: { a: 1 } }, CHECKOUT);
      expect(orderSchema.strict().safeParse(body).error).toBeUndefined();
    }
  });
});
