import type { Context } from 'koa';
import { offerOf } from '../domain/application';
import { londonDate } from '../lender/london-date';
import type { Checkout } from '../orders/hosted-checkout';
import type { Applicants } from './applicants';
import { EMPTY_FORM } from './application-form';
import { checkoutState, isApplicantState } from './checkout-state';
import type { Csrf } from './csrf';
import { type Html, html } from './html';
import type { Page } from './layout';
import { choicePage } from './pages/choice';
import { closedPage } from './pages/closed';
import { completePage, redirectPage } from './pages/complete';
import { confirmationPage } from './pages/confirmation';
import { continuationCode } from './pages/continuation-code';
import { type DetailsOptions, detailsPage } from './pages/details';
import { otherBrowserPage } from './pages/other-browser';
import { waitingPage } from './pages/waiting';

const DAY_MS = 86_400_000;

/** A query string that adds a message to the page: an earlier application is used. */
export const ALREADY_SUBMITTED = '?message=already-submitted';

const alreadySubmitted = html`<p class="message" role="status">
  An application for this order was already submitted. We did not use the answers that you just sent.
</p>`;

export interface OrderPagesOptions {
  csrf: Csrf;
  applicants: Applicants;
  /** The path of an order's pages. */
  pathOf: (payLinkId: string) => string;
  /** How long an application is kept after its order closes. */
  retentionMs: number;
}

/** Builds the pages of an order, with forms for the requesting browser. */
export function createOrderPages({ csrf, applicants, pathOf, retentionMs }: OrderPagesOptions) {
  const formContext = async (ctx: Context, { order }: Checkout) => ({
    path: pathOf(order.payLinkId),
    token: await csrf.createToken(ctx, order.payLinkId),
  });
  const codeOf = async ({ order, application }: Checkout): Promise<Html | undefined> =>
    application?.browserDigest ? continuationCode(await applicants.codeOf(application), order.sellerName) : undefined;

  async function choice(ctx: Context, checkout: Checkout, isMissing = false): Promise<Page> {
    const { order, application } = checkout;
    return choicePage({ ...(await formContext(ctx, checkout)), order, chosen: application?.paymentTerm, isMissing });
  }

  async function details(
    ctx: Context,
    checkout: Checkout,
    form: Pick<DetailsOptions, 'values' | 'errors' | 'alert'>,
  ): Promise<Page> {
    return detailsPage({
      ...(await formContext(ctx, checkout)),
      paymentTerm: checkout.application?.paymentTerm ?? 'PAY_LATER',
      isOnlyTerm: checkout.order.allowedPaymentTerms.length === 1,
      retentionDays: Math.ceil(retentionMs / DAY_MS),
      ...form,
    });
  }

  async function confirmation(ctx: Context, checkout: Checkout, error?: string): Promise<Page> {
    const { order, application } = checkout;
    return confirmationPage({
      ...(await formContext(ctx, checkout)),
      order,
      offer: offerOf(application),
      today: londonDate(new Date()),
      error,
      code: await codeOf(checkout),
    });
  }

  /** @returns undefined if the browser may see the page of the order's state */
  async function otherBrowser(ctx: Context, checkout: Checkout, error?: string): Promise<Page | undefined> {
    const state = checkoutState(checkout);
    if (!isApplicantState(state) || applicants.isApplicant(ctx, checkout)) return undefined;
    return otherBrowserPage({ ...(await formContext(ctx, checkout)), state, checkout, error });
  }

  /** The page of a complete order, which redirects to the seller. */
  async function complete(checkout: Checkout): Promise<Page> {
    return redirectPage(checkout, await codeOf(checkout));
  }

  /** The page for the order's current state. */
  async function current(ctx: Context, checkout: Checkout): Promise<Page> {
    const page = (await otherBrowser(ctx, checkout)) ?? (await pageOfState(ctx, checkout));
    const hasMessage = ctx.query.message === 'already-submitted' && checkout.application?.submitted;
    return hasMessage ? { ...page, content: html`${alreadySubmitted} ${page.content}` } : page;
  }

  async function pageOfState(ctx: Context, checkout: Checkout): Promise<Page> {
    const { order, application } = checkout;
    const state = checkoutState(checkout);
    switch (state) {
      case 'choice':
        return choice(ctx, checkout);
      case 'details':
        if (ctx.query.change !== undefined) return choice(ctx, checkout);
        return details(ctx, checkout, { values: EMPTY_FORM, errors: {} });
      case 'waiting':
      case 'referred':
      case 'completing':
        return waitingPage({
          path: pathOf(order.payLinkId),
          state,
          since: application?.agreedAt ?? application?.submitted?.at ?? new Date(),
          isRefreshing: ctx.query.refresh !== 'off',
          now: new Date(),
          code: await codeOf(checkout),
        });
      case 'confirmation':
        return confirmation(ctx, checkout);
      case 'complete':
        return completePage(checkout, await codeOf(checkout));
      case 'declined':
        return closedPage(state, checkout, await codeOf(checkout));
      case 'failed':
      case 'expired':
      case 'cancelled':
      case 'approved-elsewhere':
        return closedPage(state, checkout);
    }
  }

  return { choice, details, confirmation, otherBrowser, complete, current };
}
