import { z } from 'zod';
import { formatPence, penceToPounds, poundsToPence } from '../domain/money';
import { MAX_URL_LENGTH, checkWebUrl } from '../domain/web-url';
import { DOUBLE, paymentTerm } from './order-schemas';
import type { FieldErrorCode } from './problem-table';

/** The configured limits of a create request. */
export interface OrderRules {
  maxAmountPence: number;
  httpsOnly: boolean;
  /** Returns why a URL cannot receive webhooks, or undefined if it can. */
  checkWebhookUrl: (url: string) => string | undefined;
  /** Limits of the caller's account. Default: none. */
  account?: { maxAmountPence: number | null; needsRedirectUrl: boolean };
}

/** Control, format, private-use, unassigned and surrogate code points and line breaks. Emoji need the two joiners. */
const UNPRINTABLE = /[^\P{C}\u200c\u200d]|[\p{Zl}\p{Zp}]/u;

/**
 * What cannot be seen: the joiners too, variation selectors, fillers, the blank Braille pattern, a note without a head,
 * every space but the ordinary one, and a second space.
 */
const INVISIBLE = /[\p{C}\u2800\u{1d159}]|[^\P{Z} ]|\p{Default_Ignorable_Code_Point}| {2}/u;

/** Adds an issue with a documented code. Return its result from a transform. */
export function refuse(context: z.RefinementCtx, code: FieldErrorCode, message: string): never {
  context.addIssue({ code: 'custom', message, params: { code }, input: context.value });
  return z.NEVER;
}

/** An optional field; `null` is the same as an omitted field. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

/**
 * The part of the rules for text that every regular expression dialect supports: no surrounding whitespace, no ASCII
 * control characters. PHP lacks `\u0085`, and matches bytes. The other unprintable characters are documented in words
 * only.
 */
const PRINTABLE = String.raw`^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$`;

/** As `PRINTABLE`, without two spaces in a row. */
const REFERENCE = String.raw`^[^\x00-\x20\x7f]+( [^\x00-\x20\x7f]+)*$`;

/** Printable text without surrounding whitespace. @param max length in Unicode code points */
export const printableText = (max: number) => printable(max, UNPRINTABLE, 'must contain only printable characters');

const MAX_REFERENCE = 255;

/**
 * Two references that differ only in what cannot be seen are the same, or one of them is refused. An emoji that is joined
 * from others, or chosen with a variation selector, is refused too: it contains invisible characters.
 */
export const reference = printable(
  MAX_REFERENCE,
  INVISIBLE,
  'must contain only visible characters and single spaces',
  (value) => value.normalize('NFC'),
).meta({ pattern: REFERENCE });

function printable(max: number, refused: RegExp, message: string, normalize = (value: string) => value) {
  return (
    z
      .string()
      // NFC takes seconds for 30,000 combining marks. A longer text has too many characters in any form.
      .max(4 * max, { error: `must be at most ${max} characters`, abort: true })
      .overwrite(normalize)
      .min(1, 'must not be empty')
      .superRefine((value, context) => {
        if (Array.from(value).length > max) refuse(context, 'too_big', `must be at most ${max} characters`);
        if (refused.test(value)) refuse(context, 'invalid_characters', message);
        if (value !== value.trim()) refuse(context, 'surrounding_blanks', 'must not start or end with whitespace');
      })
      .meta({ maxLength: max, pattern: PRINTABLE })
  );
}

/** An amount in pounds; parsed to pence. */
export function amount({ maxAmountPence }: OrderRules) {
  return z
    .number()
    .meta({
      ...DOUBLE,
      // No `multipleOf`: validators that calculate with doubles refuse 19.99 as a multiple of 0.01.
      description:
        'Amount in pounds (GBP), not pence, greater than 0, with at most 2 decimal places: 1234.50 is £1,234.50. A value within floating-point error ' +
        'of whole pence, such as 0.1 + 0.2, is accepted as that amount.',
      examples: [1234.5],
      // Not `exclusiveMinimum: 0`, which is true or false in OpenAPI 3.0: tools that read both versions fail.
      minimum: 0.01,
      maximum: penceToPounds(maxAmountPence),
    })
    .transform(toPence(maxAmountPence));
}

/** Parses pounds to pence in a transform. */
export const toPence = (maxAmountPence: number) => (pounds: number, context: z.RefinementCtx) => {
  // The limit is checked on the nearest penny, because a very large amount may have no exact value in pence.
  const nearest = Math.round(pounds * 100);
  if (pounds <= 0) return refuse(context, 'too_small', 'must be greater than 0');
  if (nearest > maxAmountPence) return refuse(context, 'too_big', `must be at most ${formatPence(maxAmountPence)}`);
  const pence = poundsToPence(pounds);
  return pence || refuse(context, 'invalid_amount', 'must be in pounds with at most 2 decimal places');
};

/** An amount in pounds in a query parameter; parsed to pence. @param maxAmountPence of an amount that is accepted */
export const queryAmount = (maxAmountPence = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d{1,12}(\.\d{1,2})?$/, 'must be an amount in pounds with at most 2 decimal places, such as 1234.5')
    .transform(Number)
    .transform(toPence(maxAmountPence));

/** What the document states of a `queryAmount`. */
export const QUERY_AMOUNT = {
  examples: [1234.5],
  type: 'number',
  ...DOUBLE,
  pattern: undefined,
  minimum: 0.01,
  maximum: 999_999_999_999,
} as const;

export const paymentTerms = z
  .array(paymentTerm)
  .min(1, 'must contain at least one payment term')
  // The items of a longer list are not checked one by one.
  .max(10, 'must contain each payment term at most once')
  .superRefine((terms, context) => {
    if (new Set(terms).size !== terms.length) refuse(context, 'duplicate_value', 'must not contain duplicates');
  })
  .meta({ uniqueItems: true });

/** The URL of a page. */
export function pageUrl({ httpsOnly }: Pick<OrderRules, 'httpsOnly'>) {
  return url(httpsOnly, (value) => checkPageUrl(value, httpsOnly));
}

/** The URL of a page that customers return to, which gets the parameter `orderId`. */
export function redirectUrl({ httpsOnly }: Pick<OrderRules, 'httpsOnly'>) {
  return url(httpsOnly, (value) => checkPageUrl(value, httpsOnly) ?? checkParameters(value));
}

export function webhookUrl({ checkWebhookUrl }: Pick<OrderRules, 'checkWebhookUrl'>) {
  return url(checkWebhookUrl('http://shop.example/') !== undefined, checkWebhookUrl);
}

/** The origin of webhook URLs; parsed to its normal form. */
export function webhookOrigin({ checkWebhookUrl }: Pick<OrderRules, 'checkWebhookUrl'>) {
  return webhookUrl({ checkWebhookUrl: (value) => checkWebhookUrl(value) ?? checkOrigin(value) }).transform(originOf);
}

const originOf = (value: string): string => new URL(value).origin;

function checkOrigin(value: string): string | undefined {
  return new URL(value).href === `${originOf(value)}/`
    ? undefined
    : 'must be only a scheme, a host and optionally a port, such as https://shop.example';
}

/** An address, or an origin without a trailing slash, whose webhooks go elsewhere; parsed to its normal form. */
export const replacedAddress = url(false, checkWebUrl).transform((value) =>
  /^[^/]+\/\/[^/?#]+$/.test(value) ? originOf(value) : new URL(value).href,
);

/** @param check returns why a URL is refused, or undefined */
function url(httpsOnly: boolean, check: (value: string) => string | undefined) {
  return z
    .string()
    .superRefine((value, context) => {
      const reason = check(value);
      if (reason !== undefined) refuse(context, 'invalid_url', reason);
    })
    .meta({
      // A WHATWG URL, as in browsers. The format `uri` (RFC 3986) excludes `https://müller.example/`.
      format: 'url',
      maxLength: MAX_URL_LENGTH,
      pattern: httpsOnly ? '^https://' : '^https?://',
    });
}

function checkParameters(value: string): string | undefined {
  return new URL(value).searchParams.has('orderId')
    ? 'must not have the parameter orderId: the service adds one with the ID of the order'
    : undefined;
}

function checkPageUrl(value: string, httpsOnly: boolean): string | undefined {
  const reason = checkWebUrl(value);
  if (reason !== undefined) return reason;
  return httpsOnly && new URL(value).protocol !== 'https:' ? 'must use https' : undefined;
}

export const DEFAULT_LIMIT = 25;
export const MAX_LIMIT = 100;

/** Query parameters of every list. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .transform(Number)
    .default(DEFAULT_LIMIT)
    .meta({
      description: 'Maximum number of items on the page',
      examples: [DEFAULT_LIMIT],
      override: { type: 'integer', pattern: undefined, minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    }),
};

function toUtc(text: string, context: z.RefinementCtx): string {
  const time = new Date(text).toISOString();
  // Checked in UTC. Postgres has no year 0 and writes years of more than four digits differently.
  return /^(?!0000)\d{4}-/.test(time) ? time : refuse(context, 'invalid_value', 'must have a year from 0001 to 9999');
}

const TIME = 'must be a time such as 2027-01-31T09:00:00Z';

/** A time in a body, normalized to UTC. */
export const time = () => z.iso.datetime({ offset: true, error: TIME }).transform(toUtc);

/** A time in a query parameter, normalized to UTC. */
export const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], `${TIME}, or a date`)
  .transform(toUtc)
  .optional()
  // Generators have no type for a choice of formats.
  .meta({ override: { type: 'string', anyOf: undefined } });

export const CURSOR = { description: 'The `next_cursor` of the previous page' };
export const NO_CURSOR = 'must be the next_cursor of an earlier page';
export const uuidCursor = z.guid(NO_CURSOR).optional().meta(CURSOR);

/** Fields and list items of a body: each takes longer to read and check than hundreds of characters of a text. */
export const MAX_BODY_PARTS = 2000;

const MAX_META_DATA_BYTES = 16 * 1024;
const MAX_META_DATA_DEPTH = 32;

/** Any object, or PHP's empty map `[]`. A zod record would silently drop the key `__proto__`. */
const anyObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && (!Array.isArray(value) || value.length === 0),
    { message: 'must be an object', params: { code: 'invalid_type' satisfies FieldErrorCode }, abort: true },
  )
  .meta({ override: { type: 'object', additionalProperties: {} } });

/** Custom data of a shop: any JSON object. */
export const metaData = anyObject.transform((value, context): Record<string, unknown> => {
  if (Array.isArray(value)) return {};
  const { isTooDeep, hasProto, hasInfinity, hasUnreadable, exponents } = inspect(value);
  if (isTooDeep) {
    return refuse(context, 'too_deep', `must not be nested more than ${MAX_META_DATA_DEPTH} levels deep`);
  }
  // Postgres stores and returns all digits of `1e300`, so that a small object could become a large one.
  if (Buffer.byteLength(JSON.stringify(value)) + exponents > MAX_META_DATA_BYTES)
    return refuse(context, 'too_big', 'must be at most 16 KiB');
  if (hasProto) refuse(context, 'forbidden_key', 'must not contain the key __proto__');
  // JSON has no infinity: 1e400 would be returned as null.
  if (hasInfinity) refuse(context, 'invalid_value', 'must not contain numbers that are too large for a double');
  if (hasUnreadable) {
    refuse(context, 'invalid_characters', 'must not contain NUL characters or lone surrogates');
  }
  return value;
});

function inspect(root: object) {
  const found = { isTooDeep: false, hasProto: false, hasInfinity: false, hasUnreadable: false, exponents: 0 };
  function visit(part: unknown, level: number): void {
    if (typeof part === 'string') found.hasUnreadable ||= /\0|\p{Surrogate}/u.test(part);
    if (typeof part === 'number') {
      found.hasInfinity ||= !Number.isFinite(part);
      found.exponents += Math.abs(Number(/e([+-]\d+)$/.exec(String(part))?.[1] ?? 0));
    }
    if (typeof part !== 'object' || part === null) return;
    if (level > MAX_META_DATA_DEPTH) {
      found.isTooDeep = true;
      return;
    }
    for (const [key, value] of Object.entries(part)) {
      found.hasProto ||= key === '__proto__';
      visit(key, level);
      visit(value, level + 1);
    }
  }
  visit(root, 1);
  return found;
}
