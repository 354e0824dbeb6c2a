import type { FieldError } from '../contracts/problem-schema';
import type { Seller } from '../db/sellers';
import { formatPence } from '../domain/money';

/**
 * Checks a create request against the seller's account: the amount is within the account's limit, and there is a
 * redirect URL if the account has no default.
 * @param body as it was sent: fields of the wrong type are left to the schema
 */
export function accountErrors({ maxOrderAmountPence, defaultRedirectUrl }: Seller, body: unknown): FieldError[] {
  const data: unknown = (body as { data?: unknown } | null)?.data;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return [];
  const { amount, redirect_url: redirectUrl } = data as Record<string, unknown>;
  const errors: FieldError[] = [];
  if (maxOrderAmountPence !== null && typeof amount === 'number' && Math.round(amount * 100) > maxOrderAmountPence) {
    const detail = `must be at most ${formatPence(maxOrderAmountPence)}, the limit of your account`;
    errors.push({ code: 'too_big', detail, pointer: '/data/amount' });
  }
  if (defaultRedirectUrl === null && (redirectUrl === undefined || redirectUrl === null)) {
    const detail = 'is required: your account has no default redirect URL';
    errors.push({ code: 'required', detail, pointer: '/data/redirect_url' });
  }
  return errors;
}
