import { z } from 'zod';
import type { Applicant } from '../domain/application';
import { poundsToPence } from '../domain/money';

/** As the customer typed it. */
export type Entries = Record<keyof typeof FIELDS, string>;
/** What is wrong, beside each field. */
export type EntryErrors = Partial<Entries>;

const MAX_TURNOVER_PENCE = 1e12;
/** Eight digits, or two letters and six digits; some old numbers begin or end with an R, those of societies with RS. */
const COMPANY_NUMBER = /^(?!0{8})(\d{8}|[A-Z]{2}\d{5}[\dR]|R\d{7}|(IP|RS|SP)[\dA-Z]{6})$/;
/** Commas and blanks only between thousands: of `12500,00` nobody knows what it means. */
const POUNDS = /^(\d{1,12}|\d{1,3}([ ,]\d{3}){1,3})(\.\d{1,2})?$/;

const NO_EMAIL = 'Enter an email address such as name@example.co.uk';

/** What no one types on purpose, and Postgres does not keep. */
const UNPRINTABLE = /\p{C}/u;

const FIELDS = {
  businessName: z
    .string()
    .trim()
    .min(1, 'Enter the name of your business')
    .max(160, 'The name may have at most 160 characters')
    .refine((name) => !UNPRINTABLE.test(name), 'The name holds characters that cannot be printed'),
  companyNumber: z
    .string()
    .transform((number) => number.replace(/\s/g, '').toUpperCase())
    .transform((number) => (/^\d{6,7}$/.test(number) ? number.padStart(8, '0') : number))
    .refine((number) => number !== '', { error: 'Enter your company number', abort: true })
    .refine(
      (number) => COMPANY_NUMBER.test(number),
      'Enter the 8 characters that Companies House gave you, such as 01234567',
    ),
  email: z
    .string()
    .trim()
    .min(1, { error: 'Enter your email address', abort: true })
    .max(254, { error: 'The address is too long', abort: true })
    .regex(z.regexes.html5Email, NO_EMAIL)
    .regex(/@.+\./, NO_EMAIL),
  monthlyTurnover: z
    .string()
    .transform((text) => text.replace('£', '').trim())
    .refine((text) => text !== '', { error: 'Enter your estimated monthly turnover', abort: true })
    .refine((text) => POUNDS.test(text), { error: 'Enter an amount in pounds, such as 12,500', abort: true })
    .transform((text) => poundsToPence(Number(text.replace(/[ ,]/g, ''))) ?? 0)
    .refine((pence) => pence <= MAX_TURNOVER_PENCE, 'Enter at most £10,000,000,000'),
};

const schema = z.object(FIELDS);

export const NO_ENTRIES: Entries = { businessName: '', companyNumber: '', email: '', monthlyTurnover: '' };

/** Takes the fields of the form out of a body that may hold anything. */
export function entriesOf(fields: Readonly<Record<string, string>>): Entries {
  return {
    businessName: fields.business_name ?? '',
    companyNumber: fields.company_number ?? '',
    email: fields.email ?? '',
    monthlyTurnover: fields.monthly_turnover ?? '',
  };
}

export function readEntries(entries: Entries): { applicant: Applicant } | { errors: EntryErrors } {
  const { data, error } = schema.safeParse(entries);
  if (data) {
    const { monthlyTurnover, ...others } = data;
    return { applicant: { ...others, monthlyTurnoverPence: monthlyTurnover } };
  }
  const errors: EntryErrors = {};
  for (const { path, message } of error.issues) errors[path[0] as keyof Entries] ??= message;
  return { errors };
}
