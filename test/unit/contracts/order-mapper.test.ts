import { toCreatedOrderBody, toOrderBody } from '../../../src/contracts/order-mapper';
import { createdOrderSchema, orderSchema } from '../../../src/contracts/order-schemas';
import type { Order } from '../../../src/domain/order';
import { CREATED_AT, IN_STATUS, ORDER, historyAfter, atMinute } from '../domain/histories';

const CHECKOUT = 'https://checkout.example';
const NOTHING = { source: null, metaData: null };

const PROMOTED: Order = {
  ...ORDER,
  pricing: {
    representativeInterest: 9.9,
    promotions: [{ name: 'Spring', interestFreeDays: 90, validUntil: '2027-01-31' }],
  },
};

describe('the answer to a create call', () => {
  test('has the fields of section 2.1 that the create response shows, and no others', () => {
    expect(toCreatedOrderBody(ORDER, CHECKOUT)).toEqual({
      id: ORDER.id,
      amount: 1234.5,
      reference: 'order 17',
      order_url: `https://checkout.example/pay/${ORDER.payLinkId}/`,
      status: 'CREATED',
      allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
    });
  });

  test('keeps to its schema', () => {
    expect(createdOrderSchema.strict().safeParse(toCreatedOrderBody(ORDER, CHECKOUT)).error).toBeUndefined();
  });
});

describe('the answer to a retrieve call', () => {
  test('has the fields of section 2.1 that the retrieve response shows, and order_url', () => {
    expect(toOrderBody(ORDER, NOTHING, CHECKOUT)).toEqual({
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
    });
  });

  test('shows promotions field by field', () => {
    expect(toOrderBody(PROMOTED, NOTHING, CHECKOUT).pricing).toEqual({
      representative_interest: 9.9,
      promotions: [{ name: 'Spring', interest_free_days: 90, valid_until: '2027-01-31' }],
    });
  });

  test('has cancelled_at once the order is cancelled, and not before', () => {
    expect(toOrderBody(historyAfter('cancel').order, NOTHING, CHECKOUT).cancelled_at).toBe(atMinute(1));
    expect(toOrderBody(IN_STATUS.UNSUCCESSFUL.order, NOTHING, CHECKOUT)).not.toHaveProperty('cancelled_at');
  });

  test('gives back what the plugin sent along, and nothing where it sent nothing', () => {
    const metaData = { cart: { id: 7 }, tags: [] };
    const body = toOrderBody(ORDER, { source: 'magento', metaData }, CHECKOUT);
    expect(body).toMatchObject({ source: 'magento', meta_data: metaData });
    expect(toOrderBody(ORDER, { source: null, metaData: {} }, CHECKOUT)).toHaveProperty('meta_data', {});
    expect(toOrderBody(ORDER, NOTHING, CHECKOUT)).not.toHaveProperty('source');
    expect(toOrderBody(ORDER, NOTHING, CHECKOUT)).not.toHaveProperty('meta_data');
  });

  test('keeps what is internal to itself: the webhook address, the seller’s id, the version, the times', () => {
    const text = JSON.stringify(toOrderBody(ORDER, NOTHING, CHECKOUT));
    for (const inner of [ORDER.webhookUrl!, ORDER.sellerId, CREATED_AT, 'version']) expect(text).not.toContain(inner);
  });

  test('keeps to its schema in every status', () => {
    for (const { order } of [...Object.values(IN_STATUS), historyAfter('cancel'), { order: PROMOTED }]) {
      const body = toOrderBody(order, { source: 'x', metaData: { a: 1 } }, CHECKOUT);
      expect(orderSchema.strict().safeParse(body).error).toBeUndefined();
    }
  });
});
