import type { FieldError } from '../contracts/problem';
import type { Seller } from '../db/sellers';
import { formatPence } from '../domain/money';

/**
 * Checks a create request beyond the schema: the amount is within the account's limit, there is a redirect URL if the
 * account has no default, and the order does not expire at once.
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
  if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now())
    errors.push({ code: 'too_small', detail: 'must be in the future', pointer: '/data/expires_at' });
  return errors;
}
