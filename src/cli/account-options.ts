import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { fieldErrors } from '../contracts/field-errors';
import type { FieldError } from '../contracts/problem-schema';
import { accountSchema } from '../contracts/seller-schema';
import type { AccountSettings } from '../db/accounts';
import { UsageError, reasonOf } from './errors';

/** As Commander gives them: text where an option was given, false for its `--no-` form. */
export interface AccountOptions {
  name?: string;
  redirectUrl?: string | false;
  shopUrl?: string | false;
  pricing?: string | false;
  brandColour?: string | false;
  logo?: string | false;
  maxOrderAmount?: string | false;
  rateLimit?: string | false;
}

const OPTIONS = [
  ['redirect-url <url>', 'where customers land after the checkout, unless the order says otherwise'],
  [
    'shop-url <url>',
    'where customers go back to who have completed nothing; else the front page of the redirect address',
  ],
  [
    'pricing <json|@file>',
    'such as {"representative_interest": 9.9, "promotions": [{"name": "…", "interest_free_days": 90, "valid_until": "2027-01-31"}]}',
  ],
  ['brand-colour <#rrggbb>', 'colour of the checkout page'],
  ['logo <file>', 'logo on the checkout page: PNG, JPEG or WebP, at most 32 KiB'],
  [
    'max-order-amount <pounds>',
    "the most that one order may come to; an order must also be within the service's own limit",
  ],
  ['rate-limit <number>', "requests a minute with all keys together, instead of the service's limit for each key"],
] as const;

/** @param removable adds a `--no-` form to each */
export function addAccountOptions(command: Command, removable: boolean): Command {
  for (const [flags, description] of OPTIONS) {
    command.option(`--${flags}`, description);
    const name = flags.split(' ')[0] ?? '';
    if (removable) command.option(`--no-${name}`, `takes the ${name.replaceAll('-', ' ')} away`);
  }
  return command;
}

/** @throws UsageError that names every wrong option */
export function toAccountSettings(options: AccountOptions, httpsOnly: boolean): Partial<AccountSettings> {
  const schema = accountSchema(httpsOnly);
  const unreadable: string[] = [];
  const logo = options.logo ? readOption('--logo', options.logo, unreadable) : orNull(options.logo);
  const pricing = options.pricing === false ? {} : readPricing(options.pricing, unreadable);
  const { data, error } = schema.safeParse(
    {
      name: options.name,
      redirect_url: orNull(options.redirectUrl),
      shop_url: orNull(options.shopUrl),
      pricing,
      brand_colour: orNull(options.brandColour),
      logo,
      max_order_amount: orNull(options.maxOrderAmount),
      rate_limit: orNull(options.rateLimit),
    },
    { reportInput: true },
  );
  if (error || unreadable.length > 0) {
    throw new UsageError([...unreadable, ...(error ? fieldErrors(error, schema).map(toSentence) : [])].join('; '));
  }
  const settings = {
    name: data.name,
    defaultRedirectUrl: data.redirect_url,
    shopUrl: data.shop_url,
    pricing: data.pricing,
    brandColour: data.brand_colour,
    logo: data.logo,
    maxAmountPence: data.max_order_amount,
    rateLimit: data.rate_limit,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function orNull(option: string | false | undefined): string | null | undefined {
  return option === false ? null : option;
}

/** @param unreadable takes what is wrong */
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

/** @param unreadable takes what is wrong */
function readOption(option: string, file: string, unreadable: string[]): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    unreadable.push(`${option} cannot be read: ${reasonOf(error)}`);
    return undefined;
  }
}

/** `/pricing/promotions/0/name` is told as `--pricing /promotions/0/name`. */
function toSentence({ pointer = '', detail }: FieldError): string {
  const [, field = '', rest = ''] = /^\/([^/]+)(.*)$/.exec(pointer) ?? [];
  return [`--${field.replaceAll('_', '-')}`, rest, detail].filter((part) => part !== '').join(' ');
}
