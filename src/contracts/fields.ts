import { z } from 'zod';
import { formatPence, penceToPounds, poundsToPence } from '../domain/money';
import { PAYMENT_TERMS } from '../domain/order';
import type { FieldErrorCode } from './problem-schema';

/** What the create request may hold; the numbers are configuration. */
export interface OrderRules {
  maxAmountPence: number;
  httpsOnly: boolean;
  /** Why an address cannot receive webhooks, or undefined. */
  checkWebhookUrl: (url: string) => string | undefined;
}

const MAX_URL_LENGTH = 2048;

/** Control, format, private, unassigned and surrogate code points and line breaks, less the joiners emoji need. */
const UNPRINTABLE = /[^\P{C}\u200c\u200d]|[\p{Zl}\p{Zp}]/u;

/** `null` for an optional field means that it was left out. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

/**
 * What of this every dialect of regular expressions can say: no blanks at either end, no control characters or line
 * breaks. The rest of Unicode's unprintables is left to words.
 */
const PRINTABLE = String.raw`^[^\s\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f\u2028\u2029]*[^\s\u0000-\u001f\u007f-\u009f])?$`;

export const text = (max: number) =>
  z
    .string()
    .min(1, 'must not be empty')
    .superRefine((value, context) => {
      if (Array.from(value).length > max) refuse(context, 'too_big', `must be at most ${max} characters`);
      if (UNPRINTABLE.test(value)) refuse(context, 'invalid_characters', 'must be printable: no control characters');
      if (value !== value.trim()) refuse(context, 'surrounding_blanks', 'must not start or end with a blank');
    })
    .meta({ maxLength: max, pattern: PRINTABLE });

export function amount({ maxAmountPence }: OrderRules) {
  return z
    .number()
    .meta({
      // Not as `multipleOf`: to validators that reckon in doubles 19.99 is no multiple of 0.01.
      description:
        'Pounds (GBP): a JSON number, more than 0. More than 2 decimals are refused, but what is within float error of ' +
        'whole pence, such as 0.1 + 0.2, is that amount.',
      examples: [1234.5],
      exclusiveMinimum: 0,
      maximum: penceToPounds(maxAmountPence),
    })
    .transform((pounds, context) => {
      // By the nearest penny first: what is far too much may have no exact pence.
      const nearest = Math.round(pounds * 100);
      if (pounds <= 0) return refuse(context, 'too_small', 'must be more than 0');
      if (nearest > maxAmountPence) return refuse(context, 'too_big', `must be at most ${formatPence(maxAmountPence)}`);
      const pence = poundsToPence(pounds);
      return pence || refuse(context, 'invalid_amount', 'must be in pounds with at most 2 decimals');
    });
}

export function refuse(context: z.RefinementCtx, code: FieldErrorCode, message: string): never {
  context.addIssue({ code: 'custom', message, params: { code }, input: context.value });
  return z.NEVER;
}

export function redirectUrl({ httpsOnly }: Pick<OrderRules, 'httpsOnly'>) {
  return z
    .string()
    .superRefine((value, context) => {
      const why = checkRedirectUrl(value, httpsOnly);
      if (why !== undefined) refuse(context, 'invalid_url', why);
    })
    .meta(urlMeta(httpsOnly));
}

const urlMeta = (httpsOnly: boolean) => ({
  // The WHATWG's, as browsers read addresses: `https://müller.example/` is one, and to RFC 3986 (`uri`) is none.
  format: 'url',
  maxLength: MAX_URL_LENGTH,
  pattern: httpsOnly ? '^https://' : '^https?://',
});

/** Why an address cannot be redirected to, or undefined. */
function checkRedirectUrl(value: string, httpsOnly: boolean): string | undefined {
  if (value.length > MAX_URL_LENGTH) return `must be at most ${MAX_URL_LENGTH} characters`;
  // URL() drops or rewrites these silently, so what is stored would not be what was sent.
  if (/[\\\s]|[^\P{C}]/u.test(value)) return 'must not hold backslashes, blanks or control characters';
  if (!/^https?:\/\/[^/?#]/i.test(value) || !URL.canParse(value)) return 'must be an absolute http(s) URL';
  if (httpsOnly && new URL(value).protocol !== 'https:') return 'must use https';
  // By the text: URL() drops an empty user name.
  if (/^[^/]+\/\/[^/?#]*@/.test(value)) return 'must not hold a user name or password';
  return undefined;
}

export function webhookUrl({ checkWebhookUrl }: OrderRules) {
  const httpsOnly = checkWebhookUrl('http://shop.example/') !== undefined;
  return z
    .string()
    .superRefine((value, context) => {
      const why = checkWebhookUrl(value);
      if (why !== undefined) refuse(context, 'invalid_url', why);
    })
    .meta(urlMeta(httpsOnly));
}

export const paymentTerms = z
  .array(z.enum(PAYMENT_TERMS))
  .min(1, 'must name at least one')
  .superRefine((terms, context) => {
    if (new Set(terms).size !== terms.length) refuse(context, 'duplicate_value', 'must not name one twice');
  })
  .meta({ uniqueItems: true });
