import { z } from 'zod';
import { MAX_POUNDS } from '../domain/money';
import { MAX_INTEREST_FREE_DAYS, MAX_INTEREST_PERCENT } from '../domain/order';
import { pageUrl, redirectUrl, printableText, refuse, toPence } from './fields';
import { toPricing } from './order-mapper';

/** Keeps a checkout page with its logo under 50 KB. */
const MAX_LOGO_BYTES = 32 * 1024;

/** Recognizes an image by the first bytes of the file, as latin1. */
const LOGO_TYPES = {
  'image/png': (start: string) => start.startsWith('\x89PNG\r\n\x1a\n'),
  'image/jpeg': (start: string) => start.startsWith('\xff\xd8\xff'),
  'image/webp': (start: string) => start.startsWith('RIFF') && start.startsWith('WEBP', 8),
};
export type LogoType = keyof typeof LOGO_TYPES;

function logoTypeOf(bytes: Buffer): LogoType | undefined {
  const start = bytes.toString('latin1', 0, 12);
  return (Object.keys(LOGO_TYPES) as LogoType[]).find((type) => LOGO_TYPES[type](start));
}

const logo = z.instanceof(Buffer).transform((bytes, context) => {
  if (bytes.length > MAX_LOGO_BYTES) return refuse(context, 'too_big', 'must be at most 32 KiB');
  const type = logoTypeOf(bytes);
  return type ? { type, bytes } : refuse(context, 'invalid_format', 'must be a PNG, JPEG or WebP image');
});

const promotion = z.strictObject({
  name: printableText(100),
  interest_free_days: z
    .number()
    .int()
    .min(1, 'must be at least 1')
    .max(MAX_INTEREST_FREE_DAYS, `must be at most ${MAX_INTEREST_FREE_DAYS}`),
  valid_until: z.iso.date('must be a date such as 2027-01-31'),
});

const pricing = z
  .strictObject({
    representative_interest: z
      .number()
      .min(0, 'must not be negative')
      .max(MAX_INTEREST_PERCENT, `must be at most ${MAX_INTEREST_PERCENT}, in percent a year: 9.9 means 9.9%`)
      .default(0),
    promotions: z.array(promotion).max(20, 'must contain at most 20 promotions').default([]),
  })
  .transform(toPricing);

/** A seller's account settings. An omitted field does not change; `null` removes the setting. */
export function accountSchema(httpsOnly: boolean) {
  return z.strictObject({
    name: printableText(255).optional(),
    redirect_url: redirectUrl({ httpsOnly }).nullish(),
    cancel_url: redirectUrl({ httpsOnly }).nullish(),
    shop_url: pageUrl({ httpsOnly }).nullish(),
    pricing: pricing.optional(),
    brand_colour: z
      .string()
      .toLowerCase()
      .regex(/^#[0-9a-f]{6}$/, 'must be a colour such as #1a2b3c')
      .nullish(),
    logo: logo.nullish(),
    contact_email: z.email('must be an email address').max(254).nullish(),
    help_url: pageUrl({ httpsOnly }).nullish(),
    max_order_amount: z.coerce
      .number()
      .transform(toPence(MAX_POUNDS * 100 - 1))
      .nullish(),
    orders_per_day: z.coerce.number().int().min(1, 'must be at least 1').max(2_147_483_647).nullish(),
    bytes_per_day: z.coerce.number().int().min(1, 'must be at least 1').max(Number.MAX_SAFE_INTEGER).nullish(),
    rate_limit: z.coerce
      .number()
      .int()
      .min(1, 'must be at least 1')
      .max(1_000_000, 'must be at most 1000000')
      .nullish(),
  });
}
