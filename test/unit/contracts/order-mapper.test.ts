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

describe('toCreatedOrderBody', () => {
  test('the body has exactly the create response fields of spec section 2.1', () => {
    expect(toCreatedOrderBody(ORDER, CHECKOUT)).toEqual({
      id: ORDER.id,
      amount: 1234.5,
      reference: 'order 17',
      order_url: `https://checkout.example/pay/${ORDER.payLinkId}/`,
      status: 'CREATED',
      allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
    });
  });

  test('the body matches its schema', () => {
    expect(createdOrderSchema.strict().safeParse(toCreatedOrderBody(ORDER, CHECKOUT)).error).toBeUndefined();
  });
});

describe('toOrderBody', () => {
  test('the body has exactly the retrieve response fields of spec section 2.1 and order_url', () => {
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

  test('every field of a promotion is mapped', () => {
    expect(toOrderBody(PROMOTED, NOTHING, CHECKOUT).pricing).toEqual({
      representative_interest: 9.9,
      promotions: [{ name: 'Spring', interest_free_days: 90, valid_until: '2027-01-31' }],
    });
  });

  test('only a cancelled order has cancelled_at', () => {
    expect(toOrderBody(historyAfter('cancel').order, NOTHING, CHECKOUT).cancelled_at).toBe(atMinute(1));
    expect(toOrderBody(IN_STATUS.UNSUCCESSFUL.order, NOTHING, CHECKOUT)).not.toHaveProperty('cancelled_at');
  });

  test('source and meta_data are returned as sent, and omitted if they were not sent', () => {
    const metaData = { cart: { id: 7 }, tags: [] };
    const body = toOrderBody(ORDER, { source: 'magento', metaData }, CHECKOUT);
    expect(body).toMatchObject({ source: 'magento', meta_data: metaData });
    expect(toOrderBody(ORDER, { source: null, metaData: {} }, CHECKOUT)).toHaveProperty('meta_data', {});
    expect(toOrderBody(ORDER, NOTHING, CHECKOUT)).not.toHaveProperty('source');
    expect(toOrderBody(ORDER, NOTHING, CHECKOUT)).not.toHaveProperty('meta_data');
  });

  test("the body omits the webhook URL, the seller's ID, the version and the creation time", () => {
    const text = JSON.stringify(toOrderBody(ORDER, NOTHING, CHECKOUT));
    for (const internal of [ORDER.webhookUrl!, ORDER.sellerId, CREATED_AT, 'version'])
      expect(text).not.toContain(internal);
  });

  test('the body matches its schema in every status', () => {
    for (const { order } of [...Object.values(IN_STATUS), historyAfter('cancel'), { order: PROMOTED }]) {
      const body = toOrderBody(order, { source: 'x', metaData: { a: 1 } }, CHECKOUT);
      expect(orderSchema.strict().safeParse(body).error).toBeUndefined();
    }
  });
});
