import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { fieldErrors } from '../contracts/field-errors';
import type { FieldError } from '../contracts/problem';
import { accountSchema } from '../contracts/seller-schema';
import type { BrandingSettings } from '../checkout/db/branding';
import type { SellerSettings } from '../db/sellers';
import { UsageError, reasonOf } from './cli-error';

/** The options by the names that Commander gives them: the name of a value and a description. */
const OPTIONS = {
  redirectUrl: ['<url>', 'where customers return to after checkout, unless the order has its own redirect URL'],
  cancelUrl: ['<url>', 'where customers who do not complete go, unless the order has its own cancel URL'],
  shopUrl: ['<url>', 'where they go if there is no cancel URL; default: the home page of the redirect URL'],
  pricing: [
    '<json|@file>',
    'representative interest in percent a year, and promotions, for example {"representative_interest": 9.9, "promotions": [' +
      '{"name": "…", "interest_free_days": 90, "valid_until": "2027-01-31"}]}',
  ],
  brandColour: ['<#rrggbb>', 'colour of the checkout page'],
  logo: ['<file>', 'logo on the checkout page: PNG, JPEG or WebP, at most 32 KiB'],
  contactEmail: [
    '<address>',
    'email address for questions of customers, on the checkout page, and for emails about webhook endpoints that fail',
  ],
  helpUrl: ['<url>', 'help page for customers, on the checkout page'],
  maxOrderAmount: ['<pounds>', "highest amount of one order; the service's own limit also applies"],
  rateLimit: [
    '<number>',
    "requests per minute for all keys together, in each API process; replaces the service's limit for each key",
  ],
  ordersPerDay: ['<number>', "new orders a day (UTC); replaces the service's limit"],
  bytesPerDay: ['<number>', "bytes of new orders a day (UTC); replaces the service's limit"],
} as const;

/** The text of each option, or false for its `--no-` form. */
export type AccountOptions = { name?: string } & { [Option in keyof typeof OPTIONS]?: string | false };

/** `redirectUrl` as `redirect-url`, with the separator `-`. */
const wordsOf = (option: string, separator: string): string =>
  option.replace(/[A-Z]/g, (letter) => separator + letter.toLowerCase());

/** @param removable adds the `--no-` form of each option */
export function addAccountOptions(command: Command, removable: boolean): Command {
  for (const [option, [value, description]] of Object.entries(OPTIONS)) {
    command.option(`--${wordsOf(option, '-')} ${value}`, description);
    if (removable) command.option(`--no-${wordsOf(option, '-')}`, `remove the ${wordsOf(option, ' ')}`);
  }
  return command;
}

/** The settings of the account itself, and what customers see of the seller on the hosted checkout. */
interface Settings {
  account: Partial<SellerSettings>;
  branding: Partial<BrandingSettings>;
}

/** @throws UsageError that names every invalid option */
export function toAccountSettings({ name, ...options }: AccountOptions, httpsOnly: boolean): Settings {
  const schema = accountSchema(httpsOnly);
  const unreadable: string[] = [];
  const given = Object.fromEntries(
    Object.keys(OPTIONS).map((option) => {
      const value = options[option as keyof typeof OPTIONS];
      return [wordsOf(option, '_'), value === false ? null : value];
    }),
  );
  const logo = options.logo ? readOption('--logo', options.logo, unreadable) : given.logo;
  const pricing = options.pricing === false ? {} : readPricing(options.pricing, unreadable);
  const { data, error } = schema.safeParse({ name, ...given, logo, pricing }, { reportInput: true });
  if (error || unreadable.length > 0) {
    throw new UsageError([...unreadable, ...(error ? fieldErrors(error, schema).map(toSentence) : [])].join('; '));
  }
  const account = {
    name: data.name,
    defaultRedirectUrl: data.redirect_url,
    defaultCancelUrl: data.cancel_url,
    pricing: data.pricing,
    maxOrderAmountPence: data.max_order_amount,
    rateLimit: data.rate_limit,
    ordersPerDay: data.orders_per_day,
    bytesPerDay: data.bytes_per_day,
  };
  const branding = {
    shopUrl: data.shop_url,
    colour: data.brand_colour,
    logo: data.logo,
    contactEmail: data.contact_email,
    helpUrl: data.help_url,
  };
  return { account: withoutUndefined(account), branding: withoutUndefined(branding) };
}

function withoutUndefined<T extends object>(settings: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** @param unreadable receives an error message if the JSON cannot be read */
function readPricing(option: string | undefined, unreadable: string[]): unknown {
  const json = option?.startsWith('@') ? readOption('--pricing', option.slice(1), unreadable)?.toString() : option;
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    unreadable.push('--pricing is not valid JSON');
    return undefined;
  }
}

/** @param unreadable receives an error message if the file cannot be read */
function readOption(option: string, file: string, unreadable: string[]): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    unreadable.push(`${option} cannot be read: ${reasonOf(error)}`);
    return undefined;
  }
}

/** The pointer `/pricing/promotions/0/name` becomes `--pricing /promotions/0/name`. */
function toSentence({ pointer = '', detail }: FieldError): string {
  const [, field = '', rest = ''] = /^\/([^/]+)(.*)$/.exec(pointer) ?? [];
  return [`--${field.replaceAll('_', '-')}`, rest, detail].filter((part) => part !== '').join(' ');
}
