import { createOrderRequestSchema } from '../../../src/contracts/request-schemas';
import {
  PRODUCTION,
  accept,
  errorsOf,
  errorsOfData,
  parseJson,
  productionSchema,
} from '../../support/create-order-body';

describe('the amount', () => {
  test.each([
    ['0', 'too_small'],
    ['-0.01', 'too_small'],
    ['0.001', 'invalid_amount'],
    ['10000000.01', 'too_big'],
    ['1e400', 'invalid_type'],
    ['"10"', 'invalid_type'],
    ['null', 'required'],
  ])('%s is refused with %s', (text, code) => {
    expect(errorsOfData(parseJson(`{"amount": ${text}}`))).toEqual([`/data/amount ${code}`]);
  });

  test('a missing amount is refused with required', () => {
    expect(errorsOf({ data: { reference: 'x' } })).toEqual(['/data/amount required']);
  });

  test('the error for an amount above the limit contains the limit', () => {
    expect(errorsOfData({ amount: 1e9 }, productionSchema, 'detail')).toEqual([
      '/data/amount must be at most £10,000,000.00',
    ]);
  });

  test('the limit is configurable', () => {
    const upTo50 = createOrderRequestSchema({ ...PRODUCTION, maxAmountPence: 5000 });
    expect(accept({ amount: 50 }, upTo50).amount).toBe(5000);
    expect(errorsOfData({ amount: 50.01 }, upTo50)).toEqual(['/data/amount too_big']);
  });
});
