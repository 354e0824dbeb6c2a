import type { FieldError } from '../contracts/problem-schema';
import type { Seller } from '../db/sellers';
import { MAX_EXPIRY_DAYS } from '../domain/limits';
import { formatPence } from '../domain/money';

const DAY_MS = 86_400_000;

/**
 * Checks a create request beyond the schema: the amount is within the account's limit, there is a redirect URL if the
 * account has no default, and the order expires in the future, within a year.
 * @param body as it was sent: fields of the wrong type are left to the schema
 */
export function accountErrors({ maxOrderAmountPence, defaultRedirectUrl }: Seller, body: unknown): FieldError[] {
  const data: unknown = (body as { data?: unknown } | null)?.data;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return [];
  const { amount, redirect_url: redirectUrl, expires_at: expiresAt } = data as Record<string, unknown>;
  const errors: FieldError[] = [];
  if (maxOrderAmountPence !== null && typeof amount === 'number' && Math.round(amount * 100) > maxOrderAmountPence) {
    const detail = `must be at most ${formatPence(maxOrderAmountPence)}, the limit of your account`;
    errors.push({ code: 'too_big', detail, pointer: '/data/amount' });
  }
  if (defaultRedirectUrl === null && (redirectUrl === undefined || redirectUrl === null)) {
    const detail = 'is required: your account has no default redirect URL';
    errors.push({ code: 'required', detail, pointer: '/data/redirect_url' });
  }
  const expiresInMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) - Date.now() : NaN;
  if (expiresInMs <= 0)
    errors.push({ code: 'too_small', detail: 'must be in the future', pointer: '/data/expires_at' });
  if (expiresInMs > MAX_EXPIRY_DAYS * DAY_MS) {
    const detail = `must be at most ${MAX_EXPIRY_DAYS} days from now`;
    errors.push({ code: 'too_big', detail, pointer: '/data/expires_at' });
  }
  return errors;
}
