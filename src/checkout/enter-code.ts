import type { Checkout, CheckoutDependencies } from './hosted-checkout';
import { type ApplicantIdentity, normalizeCode } from './applicant-identity';
import { replaceBrowser } from './db/applications';
import { CODE_INCOMPLETE, CODE_WRONG, TOO_MANY_CODES } from './pages/other-browser';

/**
 * Moves an application to a browser, if its customer typed the right code.
 * @param browserSecret identifies the browser
 * @param count counts the attempt; false if there were too many
 * @returns the error for the customer, or undefined if the application has moved
 */
export async function enterCode(
  { db, log }: CheckoutDependencies,
  identity: ApplicantIdentity,
  checkout: Checkout,
  typed: string,
  browserSecret: string,
  count: () => Promise<boolean>,
): Promise<string | undefined> {
  const { order, application } = checkout;
  const code = normalizeCode(typed);
  if (!application || code === undefined) return CODE_INCOMPLETE;
  if (!(await count())) return TOO_MANY_CODES;
  const browserDigest = identity.digestOf(browserSecret, checkout);
  const isMoved =
    (await identity.isCodeOf(application, code)) &&
    (await replaceBrowser(db, order.id, application.codeNumber, browserDigest));
  if (!isMoved) return CODE_WRONG;
  log.info({ order_id: order.id }, 'application moved to another browser');
  return undefined;
}
