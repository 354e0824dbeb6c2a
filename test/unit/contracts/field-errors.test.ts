import { type z } from 'zod';
import { fieldErrors } from '../../../src/contracts/field-errors';
import { FIELD_ERROR_CODES } from '../../../src/contracts/problem-table';
import { createOrderRequestSchema, orderListQuerySchema } from '../../../src/contracts/request-schemas';

const RULES = { maxAmountPence: 1000, httpsOnly: false, checkWebhookUrl: () => undefined };

function errorsOf(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value, { reportInput: true });
  return error ? fieldErrors(error, schema).map(({ code }) => code) : [];
}

const order = (text: string) => errorsOf(createOrderRequestSchema(RULES), { data: JSON.parse(text) });
const query = (given: Record<string, string>) => errorsOf(orderListQuerySchema, given);

test('requests can cause every documented field error code, and no other', () => {
  const codes = [
    order(`{"webhookurl": "x", "reference": 1, "allowed_payment_terms": ["PAY_NOW", "PAY_NOW"], "redirect_url": "x"}`),
    // The body is checked for it before the schema.
    'duplicate_key',
    order(`{"amount": 0.001, "reference": " \\u0000", "source": "", "meta_data": {"a": {"__proto__": 1}, "b": 1}}`),
    order(`{"amount": 11, "reference": "a", "meta_data": {"a": ${'['.repeat(32)}${']'.repeat(32)}}}`),
    query({ created_from: '0000-01-01', created_before: 'yesterday', status: 'OPEN' }),
  ].flat();
  expect([...new Set(codes)].sort()).toEqual([...FIELD_ERROR_CODES].sort());
});
