import type { Context } from './context';
import { expiryOf } from '../domain/expiry';
import { londonDate } from '../domain/calendar';
import type { Checkout } from '../domain/checkout';
import { checkoutState, isApplicantState } from '../domain/checkout-state';
import { html } from '../../html/html';
import type { Page } from '../pages/layout';
import { actionRequiredPage } from '../pages/action-required';
import { agreementPage } from '../pages/agreement';
import { bankPage } from '../pages/bank';
import { choicePage } from '../pages/choice';
import { closedPage } from '../pages/closed';
import { completePage } from '../pages/complete';
import { detailsPage } from '../pages/details';
import { maskEmail } from '../pages/format';
import { continueElsewhere, otherBrowserPage } from '../pages/other-browser';
import { payingPage } from '../pages/paying';
import type { FormView, View } from '../pages/view';
import { waitingPage } from '../pages/waiting';
import type { PageParts } from './read-request';

const DAY_MS = 86_400_000;

/**
 * A query string that adds a message to the page: why the answers of a form were not used, if that needs an
 * explanation.
 */
export const NOT_USED = '?message=not-used';
/** As NOT_USED: a link to continue was requested. */
export const LINK_SENT = 'link-sent';

function whyNotUsed({ application }: Checkout): string | undefined {
  if (application?.submitted) {
    return 'An application for this order was already submitted. We did not use the answers that you just sent.';
  }
  return application?.paymentTerm === 'PAY_NOW'
    ? 'You changed the payment method to “Pay now” in another window. Your application was not submitted.'
    : undefined;
}

/** While the expiry is held, an order stays open after it is due. */
function whyTooLate(checkout: Checkout): string | undefined {
  const { order, application } = checkout;
  const isPaying = ['bank', 'pay-now-offered'].includes(checkoutState(checkout));
  return isPaying && expiryOf(order, application, Date.now()) <= Date.now()
    ? `The time to complete this order is over: no payment can be started. Go back to ${order.sellerName} to order again.`
    : undefined;
}

/** Whom we write to about an application, as in `maskEmail`; undefined if we do not write. */
export function mailTo({ mails }: PageParts, { order, application }: Checkout): string | undefined {
  const canMail = order.sandbox ? mails.sandbox : mails.live;
  return canMail && application?.submitted ? maskEmail(application.submitted.applicant.email) : undefined;
}

/** The order for a page without forms. */
export function viewOf(parts: PageParts, ctx: Context, checkout: Checkout): View {
  const { order, application } = checkout;
  const to = mailTo(parts, checkout);
  const isOwned = application?.browserDigest && isApplicantState(checkoutState(checkout), checkout);
  const now = new Date();
  return {
    ...checkout,
    providerDetails: parts.providerDetailsOf(order),
    path: parts.pathOf(order.payLinkId),
    ...{ now, today: londonDate(now) },
    isApplicant: parts.identity.isApplicant(ctx, checkout),
    isRefreshing: ctx.query.refresh !== 'off',
    retentionDays: Math.ceil(parts.retentionMs / DAY_MS),
    mailTo: to,
    elsewhere: isOwned ? continueElsewhere(to) : undefined,
  };
}

/** The order for a page with forms. Sets or renews the browser's cookie. */
export async function formViewOf(parts: PageParts, ctx: Context, checkout: Checkout): Promise<FormView> {
  const token = await parts.forms.createToken(ctx, checkout.order.payLinkId);
  return { ...viewOf(parts, ctx, checkout), token };
}

/** @returns undefined if the browser may see the page of the order's state */
export async function otherBrowser(
  parts: PageParts,
  ctx: Context,
  checkout: Checkout,
  error?: string,
): Promise<Page | undefined> {
  const state = parts.identity.hiddenState(ctx, checkout);
  const isSent = ctx.query.message === LINK_SENT;
  return state && otherBrowserPage(state, await formViewOf(parts, ctx, checkout), { isSent, error });
}

/** The page for the order's current state. */
export async function current(parts: PageParts, ctx: Context, checkout: Checkout): Promise<Page> {
  const page = (await otherBrowser(parts, ctx, checkout)) ?? (await pageOfState(parts, ctx, checkout));
  const isNotUsed = `?message=${String(ctx.query.message)}` === NOT_USED;
  const message = whyTooLate(checkout) ?? (isNotUsed ? whyNotUsed(checkout) : undefined);
  return message === undefined
    ? page
    : {
        ...page,
        content: html`<p class="message" role="status">${message}</p>
          ${page.content}`,
      };
}

async function pageOfState(parts: PageParts, ctx: Context, checkout: Checkout): Promise<Page> {
  const state = checkoutState(checkout);
  const view = viewOf(parts, ctx, checkout);
  switch (state) {
    case 'choice':
      return choicePage(await formViewOf(parts, ctx, checkout));
    case 'details':
    case 'retry':
      return detailsPage(await formViewOf(parts, ctx, checkout));
    case 'bank':
    case 'pay-now-offered':
      return bankPage(await formViewOf(parts, ctx, checkout));
    case 'paying':
      return payingPage(await formViewOf(parts, ctx, checkout));
    case 'agreement':
      return agreementPage(await formViewOf(parts, ctx, checkout));
    case 'action-required':
      return actionRequiredPage(view);
    case 'waiting':
    case 'referred':
    case 'confirming':
    case 'completing':
      return waitingPage(state, view);
    case 'complete':
      return completePage(view);
    case 'declined':
    case 'failed':
    case 'expired':
    case 'cancelled':
    case 'approved-elsewhere':
      return closedPage(state, view, view.providerDetails);
  }
}
