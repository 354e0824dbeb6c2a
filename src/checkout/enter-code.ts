import { type Checkout, type CheckoutDependencies, continueApplication } from './hosted-checkout';
import { type ApplicantIdentity, normalizeCode } from './applicant-identity';
import { CODE_INCOMPLETE, CODE_WRONG, TOO_MANY_CODES } from './pages/other-browser';

const ERRORS = { moved: undefined, 'wrong-code': CODE_WRONG };

/**
 * Moves an application to a browser, if its customer typed the right code.
 * @param browserSecret identifies the browser
 * @param count counts the attempt; false if there were too many
 * @returns the error for the customer, or undefined if the application has moved
 */
export async function enterCode(
  deps: CheckoutDependencies,
  identity: ApplicantIdentity,
  checkout: Checkout,
  typed: string,
  browserSecret: string,
  count: () => Promise<boolean>,
): Promise<string | undefined> {
  const { application } = checkout;
  const code = normalizeCode(typed);
  if (!application || code === undefined) return CODE_INCOMPLETE;
  if (!(await count())) return TOO_MANY_CODES;
  const isCodeRight = await identity.isCodeOf(application, code);
  const browserDigest = identity.digestOf(browserSecret, checkout);
  return ERRORS[await continueApplication(deps, checkout, { isCodeRight, browserDigest })];
}
