import type { Context } from './context';
import { type Application, offerOf } from '../domain/application';
import { expiryOf } from '../domain/expiry';
import { isCurrent } from '../domain/payment';
import { londonDate } from '../domain/calendar';
import type { Checkout } from '../domain/checkout';
import { EMPTY_FORM, type FormValues, toTypedValues } from '../domain/application-form';
import { type WaitingState, checkoutState } from '../domain/checkout-state';
import { type Html, html } from '../../html/html';
import type { Page } from '../pages/layout';
import { actionRequiredPage } from '../pages/action-required';
import { agreementPage } from '../pages/agreement';
import { type BankOptions, chooseBankPage } from '../pages/bank';
import { choicePage } from '../pages/choice';
import { closedPage } from '../pages/closed';
import { completePage, redirectPage } from '../pages/complete';
import { type DetailsOptions, type FormAlert, detailsPage } from '../pages/details';
import { continueElsewhere, continueHerePage, otherBrowserPage } from '../pages/other-browser';
import { payNowOfferedPage, withdrawForm } from '../pages/pay-now-offered';
import { payingPage } from '../pages/paying';
import { waitingPage } from '../pages/waiting';
import { maskEmail } from '../pages/format';
import { bankName } from '../pages/provider-details';
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

// The pages of an order, with forms for the requesting browser.

async function formContext({ forms, pathOf }: PageParts, ctx: Context, { order }: Checkout) {
  return { path: pathOf(order.payLinkId), token: await forms.createToken(ctx, order.payLinkId) };
}

/** Whom we write to about an application, as in `maskEmail`; undefined if we do not write. */
export function mailTo({ mails }: PageParts, { order, application }: Checkout): string | undefined {
  const canMail = order.sandbox ? mails.sandbox : mails.live;
  return canMail && application?.submitted ? maskEmail(application.submitted.applicant.email) : undefined;
}

/** Undefined while every browser may open the pages: before an application is submitted or a payment is started. */
function elsewhereOf(parts: PageParts, checkout: Checkout): Html | undefined {
  return checkout.application?.browserDigest ? continueElsewhere(mailTo(parts, checkout)) : undefined;
}

/** For the pages that are also shown before an application is submitted. */
const elsewhereOfSubmitted = (parts: PageParts, checkout: Checkout): Html | undefined =>
  checkout.application?.submitted ? elsewhereOf(parts, checkout) : undefined;

export async function choice(parts: PageParts, ctx: Context, checkout: Checkout, isMissing = false): Promise<Page> {
  const { order, application } = checkout;
  const providerDetails = parts.providerDetailsOf(order);
  const today = londonDate(new Date());
  return choicePage({
    ...(await formContext(parts, ctx, checkout)),
    order,
    quote: providerDetails.quote(order, today),
    today,
    lenderName: providerDetails.lenderName,
    chosen: application?.paymentTerm,
    isMissing,
  });
}

export async function details(
  parts: PageParts,
  ctx: Context,
  checkout: Checkout,
  { values, errors, alert }: Partial<Pick<DetailsOptions, 'values' | 'errors' | 'alert'>> = {},
): Promise<Page> {
  const { order, application } = checkout;
  const providerDetails = parts.providerDetailsOf(order);
  const context = await formContext(parts, ctx, checkout);
  const isRetry = checkoutState(checkout) === 'retry';
  const today = londonDate(new Date());
  const shown = alert ?? (isRetry && !errors ? notProcessed(providerDetails.lenderName) : undefined);
  return detailsPage({
    ...context,
    order,
    providerDetails,
    quote: providerDetails.quote(order, today),
    today,
    values: values ?? valuesOf(isRetry ? application : undefined),
    errors: errors ?? {},
    ...(shown && { alert: shown }),
    replaces: isRetry ? application?.id : undefined,
    withdraw: isRetry ? withdrawForm(context, order.sellerName, 'failed') : undefined,
    retentionDays: Math.ceil(parts.retentionMs / DAY_MS),
    elsewhere: elsewhereOfSubmitted(parts, checkout),
  });
}

/** @param typed what the customer has typed in the application */
export async function banks(
  parts: PageParts,
  ctx: Context,
  checkout: Checkout,
  typed = EMPTY_FORM,
  isMissing = false,
): Promise<Page> {
  const { order, application, payment } = checkout;
  const context = await formContext(parts, ctx, checkout);
  const decision = application?.submitted ? application.decision : undefined;
  const options: BankOptions = {
    ...context,
    order,
    providerDetails: parts.providerDetailsOf(order),
    lastPayment: payment,
    isApplicant: parts.identity.isApplicant(ctx, checkout),
    canPayLater: order.allowedPaymentTerms.includes('PAY_LATER') && decision?.kind !== 'declined',
    typed,
    isMissing,
    withdraw: decision ? withdrawForm(context, order.sellerName, decision.kind) : undefined,
    elsewhere: elsewhereOfSubmitted(parts, checkout),
  };
  const isOffered = decision?.kind === 'declined' && !payment;
  return isOffered ? payNowOfferedPage({ ...options, reason: decision.code }) : chooseBankPage(options);
}

export async function agreement(parts: PageParts, ctx: Context, checkout: Checkout, error?: string): Promise<Page> {
  const { order, application } = checkout;
  return agreementPage({
    ...(await formContext(parts, ctx, checkout)),
    order,
    providerDetails: parts.providerDetailsOf(order),
    offer: offerOf(application),
    applicant: application?.submitted?.applicant,
    today: londonDate(new Date()),
    error,
    mailTo: mailTo(parts, checkout),
    elsewhere: elsewhereOf(parts, checkout),
  });
}

/** @returns undefined if the browser may see the page of the order's state */
export async function otherBrowser(
  parts: PageParts,
  ctx: Context,
  checkout: Checkout,
  error?: string,
): Promise<Page | undefined> {
  const state = parts.identity.hiddenState(ctx, checkout);
  return (
    state &&
    otherBrowserPage({
      ...(await formContext(parts, ctx, checkout)),
      ...{ state, checkout, error },
      canMail: mailTo(parts, checkout) !== undefined,
      isSent: ctx.query.message === LINK_SENT,
    })
  );
}

/** What a link by email opens. */
export async function continueHere(parts: PageParts, ctx: Context, checkout: Checkout, token: string): Promise<Page> {
  return continueHerePage(await formContext(parts, ctx, checkout), token, checkout.order.sellerName);
}

/** The page of a complete order, which continues to the seller. */
export function complete(parts: PageParts, checkout: Checkout): Page {
  const path = parts.pathOf(checkout.order.payLinkId);
  const providerDetails = parts.providerDetailsOf(checkout.order);
  return redirectPage({ checkout, providerDetails, elsewhere: elsewhereOf(parts, checkout) }, path);
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
  const { order, application, payment } = checkout;
  const providerDetails = parts.providerDetailsOf(order);
  const state = checkoutState(checkout);
  const path = parts.pathOf(order.payLinkId);
  const isRefreshing = ctx.query.refresh !== 'off';
  const isPaidNow = payment !== undefined && isCurrent(payment.status);
  switch (state) {
    case 'choice':
      return choice(parts, ctx, checkout);
    case 'details':
    case 'retry':
      return details(parts, ctx, checkout);
    case 'bank':
    case 'pay-now-offered':
      return banks(parts, ctx, checkout);
    case 'paying':
      return payingPage({
        ...(await formContext(parts, ctx, checkout)),
        order,
        bank: bankName(providerDetails, payment?.bank ?? ''),
        paymentId: payment?.id ?? '',
        update: { path, url: `${path}/return/`, isRefreshing, waitedMs: payment?.ageMs ?? 0 },
      });
    case 'action-required': {
      const waitedMs = Date.now() - (application?.submitted?.at.getTime() ?? 0);
      const update = { path, url: `${path}/`, isRefreshing, waitedMs };
      return actionRequiredPage({ providerDetails, update, elsewhere: elsewhereOf(parts, checkout) });
    }
    case 'waiting':
    case 'referred':
    case 'confirming':
    case 'completing':
      return waitingPage({
        providerDetails,
        path,
        state,
        isPaidNow,
        since: waitingSince(state, checkout) ?? new Date(),
        isRefreshing,
        now: new Date(),
        mailTo: mailTo(parts, checkout),
        elsewhere: isPaidNow ? undefined : elsewhereOf(parts, checkout),
      });
    case 'agreement':
      return agreement(parts, ctx, checkout);
    case 'complete':
      return completePage({ checkout, providerDetails, elsewhere: elsewhereOf(parts, checkout) });
    case 'declined':
    case 'failed':
    case 'expired':
    case 'cancelled':
    case 'approved-elsewhere':
      return closedPage(state, checkout, providerDetails);
  }
}

/** When the customer's last step ended. */
function waitingSince(state: WaitingState, { application, payment }: Checkout): Date | null | undefined {
  switch (state) {
    case 'waiting':
    case 'referred':
      return application?.submitted?.at;
    case 'confirming':
      return payment?.approvedAt;
    case 'completing':
      return payment?.status === 'paid' ? payment.approvedAt : application?.agreedAt;
  }
}

function notProcessed(lenderName: string): FormAlert {
  return {
    status: 200,
    text:
      `${lenderName} could not process your application. This is not a decision about you or your business. ` +
      'Check your details and try again.',
  };
}

function valuesOf(application: Application | undefined): FormValues {
  return application?.submitted ? toTypedValues(application.submitted.applicant) : EMPTY_FORM;
}
