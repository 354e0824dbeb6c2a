import { z } from 'zod';
import type { Applicant } from './application';
import { formatPence, poundsToPence } from '../../domain/money';

/** The form's values by the names of their fields, as the customer typed them. */
export type FormValues = Record<keyof typeof FIELDS, string>;
/** An error message for each invalid field. */
export type FormErrors = Partial<FormValues>;

const MAX_TURNOVER_PENCE = 1e12;
/**
 * Eight characters, at least four of them digits: Companies House has dozens of prefixes, and letters at the end of some
 * numbers (SL00911A, IP12345R, SP1234RS). Whether a company has the number is the lender's question.
 */
const COMPANY_NUMBER = /^(?!0{8})(?=(?:[A-Z]*\d){4})[A-Z\d]{8}$/;
/** Allows commas and spaces between thousands only, because `12500,00` is ambiguous. */
const POUNDS = /^(\d{1,12}|\d{1,3}([ ,]\d{3}){1,3})(\.\d{1,2})?$/;

const INVALID_EMAIL = 'Enter an email address in the correct format, like name@example.co.uk';

/** Includes characters that Postgres cannot store. */
const UNPRINTABLE = /\p{C}/u;

const FIELDS = {
  business_name: z
    .string()
    .trim()
    .min(1, 'Enter your business name')
    .max(160, 'Business name must be 160 characters or fewer')
    .refine((name) => !UNPRINTABLE.test(name), 'Business name must contain only printable characters'),
  company_number: z
    .string()
    .transform((number) => number.replace(/\s/g, '').toUpperCase())
    .transform((number) => (/^\d{6,7}$/.test(number) ? number.padStart(8, '0') : number))
    .refine((number) => number !== '', { error: 'Enter your company number', abort: true })
    .refine(
      (number) => COMPANY_NUMBER.test(number),
      'Enter your 8-character company number from Companies House, for example 01234567',
    ),
  email: z
    .string()
    .trim()
    .min(1, { error: 'Enter your email address', abort: true })
    .max(254, { error: 'Email address must be 254 characters or fewer', abort: true })
    .regex(z.regexes.html5Email, INVALID_EMAIL)
    .regex(/@.+\./, INVALID_EMAIL),
  monthly_turnover: z
    .string()
    .transform((text) => text.replace('£', '').trim())
    .refine((text) => text !== '', { error: 'Enter your estimated monthly turnover', abort: true })
    .refine((text) => POUNDS.test(text), { error: 'Enter an amount in pounds, for example 12,500', abort: true })
    .transform((text) => poundsToPence(Number(text.replace(/[ ,]/g, ''))) ?? 0)
    .refine((pence) => pence <= MAX_TURNOVER_PENCE, 'Estimated monthly turnover must be £10,000,000,000 or less'),
};

const schema = z.object(FIELDS);

const fill = (valueOf: (name: string) => string): FormValues =>
  Object.fromEntries(Object.keys(FIELDS).map((name) => [name, valueOf(name)])) as FormValues;

export const EMPTY_FORM = fill(() => '');

/** Picks the form's values out of a request's fields. Pasted text can contain no-break spaces and invisible characters. */
export const toFormValues = (fields: Readonly<Record<string, string>>): FormValues =>
  fill((name) => (fields[name] ?? '').replace(/\p{Cf}/gu, '').replace(/\p{Zs}/gu, ' '));

/** An applicant's answers as the form shows them. */
export const toTypedValues = (applicant: Applicant): FormValues => ({
  business_name: applicant.businessName,
  company_number: applicant.companyNumber,
  email: applicant.email,
  monthly_turnover: formatPence(applicant.monthlyTurnoverPence).slice(1),
});

export function validateForm(values: FormValues): { applicant: Applicant } | { errors: FormErrors } {
  const { data, error } = schema.safeParse(values);
  if (data) {
    const { business_name: businessName, company_number: companyNumber, email } = data;
    return { applicant: { businessName, companyNumber, email, monthlyTurnoverPence: data.monthly_turnover } };
  }
  const errors: FormErrors = {};
  for (const { path, message } of error.issues) errors[path[0] as keyof FormValues] ??= message;
  return { errors };
}
