import type { OrderDependencies } from '../orders/dependencies';
import { type Checkout, continueApplication } from '../orders/hosted-checkout';
import { type Applicants, normalizeCode } from './applicants';
import { CODE_INCOMPLETE, CODE_WRONG, TOO_MANY_CODES } from './pages/other-browser';

const ERRORS = { moved: undefined, 'wrong-code': CODE_WRONG, 'too-many-attempts': TOO_MANY_CODES };

/**
 * Moves an application to a browser, if its customer typed the right code.
 * @param browser the browser's secret
 * @returns the error for the customer, or undefined if the application has moved
 */
export async function enterCode(
  deps: OrderDependencies,
  applicants: Applicants,
  checkout: Checkout,
  typed: string,
  browser: string,
): Promise<string | undefined> {
  const { application } = checkout;
  const code = normalizeCode(typed);
  if (!application || code === undefined) return CODE_INCOMPLETE;
  const isCodeRight = await applicants.isCodeOf(application, code);
  const browserDigest = applicants.digestOf(browser, checkout);
  return ERRORS[await continueApplication(deps, checkout, { isCodeRight, browserDigest })];
}
