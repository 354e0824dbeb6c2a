import { fieldErrors } from '../../src/contracts/field-errors';
import { type CreateOrderRequest, createOrderRequestSchema } from '../../src/contracts/request-schemas';
import { checkWebhookUrl } from '../../src/webhooks/address-guard';

export const PRODUCTION = {
  maxAmountPence: 1_000_000_000,
  httpsOnly: true,
  checkWebhookUrl: (url: string) => checkWebhookUrl(url, { allowPrivate: false, allowHttp: false }),
};
export const productionSchema = createOrderRequestSchema(PRODUCTION);

export const VALID = { amount: 1234.5, reference: 'order 17' };

/** Parses a valid request with these fields. */
export function accept(data: Record<string, unknown>, schema = productionSchema): CreateOrderRequest {
  return schema.parse({ data: { ...VALID, ...data } }).data;
}

/** The errors of a body, each as `pointer code` or `pointer detail`. Empty if the body is valid. */
export function errorsOf(body: unknown, schema = productionSchema, show: 'code' | 'detail' = 'code'): string[] {
  const { error } = schema.safeParse(body, { reportInput: true });
  if (!error) return [];
  return fieldErrors(error, schema).map((one) => `${one.pointer ?? '-'} ${one[show]}`);
}

/** The errors of a valid request with these fields. */
export function errorsOfData(
  data: Record<string, unknown>,
  schema = productionSchema,
  show: 'code' | 'detail' = 'code',
): string[] {
  return errorsOf({ data: { ...VALID, ...data } }, schema, show);
}

export const parseJson = (text: string) => JSON.parse(text) as Record<string, unknown>;
