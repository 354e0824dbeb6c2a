import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { fieldErrors } from '../contracts/field-errors';
import type { FieldError } from '../contracts/problem';
import { accountSchema } from '../contracts/seller';
import type { AccountSettings } from '../db/accounts';
import { UsageError, reasonOf } from './errors';

/** As Commander gives them: text where an option was given, false for its `--no-` form. */
export interface AccountOptions {
  name?: string;
  redirectUrl?: string | false;
  pricing?: string | false;
  brandColour?: string | false;
  logo?: string | false;
  maxOrderAmount?: string | false;
  rateLimit?: string | false;
}

const OPTIONS = [
  ['redirect-url <url>', 'where customers land after the checkout, unless the order says otherwise'],
  [
    'pricing <json|@file>',
    'such as {"representative_interest": 9.9, "promotions": [{"name": "…", "interest_free_days": 90, "valid_until": "2027-01-31"}]}',
  ],
  ['brand-colour <#rrggbb>', 'colour of the checkout page'],
  ['logo <file>', 'logo on the checkout page: PNG, JPEG or WebP, at most 32 KiB'],
  ['max-order-amount <pounds>', "the most that one order may come to, below the service's own limit"],
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
  const { data, error } = schema.safeParse(
    {
      name: options.name,
      redirect_url: orNull(options.redirectUrl),
      pricing: options.pricing === false ? {} : parsePricing(options.pricing),
      brand_colour: orNull(options.brandColour),
      logo: options.logo ? readOption('--logo', options.logo) : orNull(options.logo),
      max_order_amount: orNull(options.maxOrderAmount),
      rate_limit: orNull(options.rateLimit),
    },
    { reportInput: true },
  );
  if (error) throw new UsageError(fieldErrors(error, schema).map(toSentence).join('; '));
  const settings = {
    name: data.name,
    defaultRedirectUrl: data.redirect_url,
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

function parsePricing(option: string | undefined): unknown {
  if (option === undefined) return undefined;
  const json = option.startsWith('@') ? readOption('--pricing', option.slice(1)).toString() : option;
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError('--pricing is not valid JSON');
  }
}

function readOption(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`${option} cannot be read: ${reasonOf(error)}`);
  }
}

/** `/pricing/promotions/0/name` is told as `--pricing /promotions/0/name`. */
function toSentence({ pointer = '', detail }: FieldError): string {
  const [, field = '', rest = ''] = /^\/([^/]+)(.*)$/.exec(pointer) ?? [];
  return [`--${field.replaceAll('_', '-')}`, rest, detail].filter((part) => part !== '').join(' ');
}
