import { createHash } from 'node:crypto';
import type { Context } from './context';
import type { Checkout } from '../domain/checkout';
import type { BrowserCookie } from '../../html/browser-cookie';
import { type ApplicantState, checkoutState, isApplicantState } from '../domain/checkout-state';

type HasOrder = { order: Pick<Checkout['order'], 'id'> };

/**
 * Distinguishes the applicant from everyone else with the pay link, such as the seller. An application belongs to the
 * browser that submitted it or started its payment. A link by email moves it to another one.
 */
export function createApplicantIdentity(browsers: BrowserCookie) {
  /** The digest of a browser's secret for one order: orders of the same browser cannot be linked by it. */
  const digestOf = (browserSecret: string, { order }: HasOrder): Buffer =>
    createHash('sha256').update(`${browserSecret}.${order.id}`).digest();

  /** The digests of the secrets that a request was sent with. */
  const digestsOf = (ctx: Context, checkout: HasOrder): Buffer[] =>
    browsers.secretsOf(ctx).map((browserSecret) => digestOf(browserSecret, checkout));

  /** True if the order's application belongs to the requesting browser, or if there is none. */
  function isApplicant(ctx: Context, checkout: Checkout): boolean {
    const owner = checkout.application?.browserDigest;
    return !owner || digestsOf(ctx, checkout).some((digest) => digest.equals(owner));
  }

  return {
    digestOf,
    digestsOf,
    isApplicant,

    /** The order's state if only the applicant may see its page, and the requesting browser is another one. */
    hiddenState(ctx: Context, checkout: Checkout): ApplicantState | undefined {
      const state = checkoutState(checkout);
      return isApplicantState(state, checkout) && !isApplicant(ctx, checkout) ? state : undefined;
    },
  };
}

export type ApplicantIdentity = ReturnType<typeof createApplicantIdentity>;
