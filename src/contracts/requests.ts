import { z } from 'zod';
import { formatPence, penceToPounds, poundsToPence } from '../domain/money';
import { PAYMENT_TERMS } from '../domain/order';
import { ORDER_STATUSES, PROGRESS_EVENTS } from '../domain/status';
import { moment, pageQuery, uuidCursor } from './page';

/** What the create request may hold; the numbers are configuration. */
export interface OrderRules {
  maxAmountPence: number;
  httpsOnly: boolean;
  /** Why an address cannot receive webhooks, or undefined. */
  checkWebhookUrl: (url: string) => string | undefined;
}

const MAX_URL_LENGTH = 2048;
const MAX_META_DATA_BYTES = 16 * 1024;
const MAX_META_DATA_DEPTH = 32;

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

function amount({ maxAmountPence }: OrderRules) {
  return z
    .number()
    .meta({
      description:
        'Pounds (GBP): a JSON number, more than 0, at most 2 decimals. What is within float error of whole pence, such ' +
        'as 0.1 + 0.2, is that amount.',
      examples: [1234.5],
      exclusiveMinimum: 0,
      maximum: penceToPounds(maxAmountPence),
      multipleOf: 0.01,
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

export function refuse(context: z.RefinementCtx, code: string, message: string): never {
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
  format: 'uri',
  maxLength: MAX_URL_LENGTH,
  pattern: httpsOnly ? '^https://' : '^https?://',
});

/** Why an address cannot be redirected to, or undefined. */
export function checkRedirectUrl(value: string, httpsOnly: boolean): string | undefined {
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

const metaData = z.record(z.string(), z.unknown()).superRefine((value, context) => {
  // The depth first: what comes after it recurses.
  if (deeperThan(value, MAX_META_DATA_DEPTH)) {
    refuse(context, 'too_deep', `must be nested at most ${MAX_META_DATA_DEPTH} deep`);
  } else if (Buffer.byteLength(JSON.stringify(value)) > MAX_META_DATA_BYTES) {
    refuse(context, 'too_big', 'must be at most 16 KiB as JSON');
  } else {
    const parts = partsOf(value);
    if (parts.some(isUnstorable)) refuse(context, 'invalid_characters', 'must not hold NUL or lone surrogates');
    if (parts.some(isInexact)) {
      refuse(context, 'inexact_number', 'must not hold numbers like 9007199254740993 or 1e400: send them as text');
    }
  }
});

function deeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((child) => deeperThan(child, depth - 1));
}

/** All keys and values within a value, or itself. */
function partsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.entries(value).flatMap(([key, child]) => [key, ...partsOf(child)]);
}

/** Postgres keeps neither NUL nor lone surrogates. */
function isUnstorable(part: unknown): boolean {
  return typeof part === 'string' && /\0|\p{Surrogate}/u.test(part);
}

/**
 * What a double cannot hold: an infinity, and whole numbers of which the last digits would come back wrong. From 1e21 on
 * they are written with an exponent, as the approximations that they are (RFC 8259, section 6).
 */
function isInexact(part: unknown): boolean {
  if (typeof part !== 'number') return false;
  return !Number.isFinite(part) || (Math.abs(part) > Number.MAX_SAFE_INTEGER && Math.abs(part) < 1e21);
}

const paymentTerms = z
  .array(z.enum(PAYMENT_TERMS))
  .min(1, 'must name at least one')
  .superRefine((terms, context) => {
    if (new Set(terms).size !== terms.length) refuse(context, 'duplicate_value', 'must not name one twice');
  })
  .meta({ uniqueItems: true });

/**
 * The body of the create call (spec section 2.3).
 * @param redirectRequired where the seller's account has no default redirect address
 */
export function createOrderRequestSchema(rules: OrderRules, redirectRequired: boolean) {
  const redirect = redirectUrl(rules);
  return z.strictObject({
    data: z.strictObject({
      amount: amount(rules),
      reference: text(255).meta({
        description:
          'Your own reference, unique among your orders that are not UNSUCCESSFUL. Printable, no blanks around it',
        examples: ['web-100042'],
      }),
      allowed_payment_terms: optional(paymentTerms).meta({ description: 'How the customer may pay; both unless said' }),
      webhook_url: optional(webhookUrl(rules)).meta({
        description:
          'Where changes of the status are sent. Not to private addresses; without a user name; https in production',
      }),
      redirect_url: (redirectRequired ? redirect : optional(redirect)).meta({
        description:
          'Where the customer lands after checkout; `orderId` is added to its search parameters. Required where your ' +
          'account has no default. Without a user name; https in production',
      }),
      source: optional(text(100)).meta({
        description: 'What sends the order, such as a plugin',
      }),
      meta_data: optional(metaData).meta({
        description:
          'Whatever you like to have back with the order: at most 16 KiB as JSON, 32 levels deep; numbers beyond 2^53 as text',
      }),
    }),
  });
}
export type CreateOrderRequest = z.infer<ReturnType<typeof createOrderRequestSchema>>['data'];

/** The search parameters of the list of orders. */
export const orderListQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: uuidCursor,
  status: z
    .enum(ORDER_STATUSES)
    .optional()
    .meta({ description: 'Orders in this status only', examples: ['PENDING'] }),
  reference: text(255)
    .optional()
    .meta({ description: 'Orders with exactly this reference: several, where all but one are UNSUCCESSFUL' }),
  created_from: moment.meta({ description: 'Created then or later: ISO 8601; a date stands for its start in UTC' }),
  created_before: moment.meta({ description: 'Created before: ISO 8601; a date stands for its start in UTC' }),
});
export type OrderListQuery = z.infer<typeof orderListQuerySchema>;

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export const idempotencyKeySchema = z
  .string()
  .regex(IDEMPOTENCY_KEY, 'An Idempotency-Key is 1 to 255 printable ASCII characters without blanks.')
  .optional()
  .meta({
    description:
      'Makes the call safe to repeat: 1 to 255 printable ASCII characters without blanks, one for each order',
    examples: ['web-100042-1'],
    param: { id: 'Idempotency-Key' },
  });

/** The body of the progress call. */
export const progressRequestSchema = z
  .strictObject({
    data: z.strictObject({
      event: z.enum(PROGRESS_EVENTS).meta({ description: 'What the customer has come to', examples: ['approved'] }),
      reason: optional(text(500)).meta({ description: 'Why, for people' }),
    }),
  })
  .meta({ id: 'ProgressRequest' });
export type ProgressRequest = z.infer<typeof progressRequestSchema>['data'];
