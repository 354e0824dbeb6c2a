import type { Context } from './context';
import { type Application, offerOf } from './domain/application';
import { expiryOf } from './domain/expiry';
import { isCurrent } from './domain/payment';
import { londonDate } from './calendar';
import type { Checkout } from './hosted-checkout';
import { EMPTY_FORM, type FormValues, toTypedValues } from './application-form';
import { type WaitingState, checkoutState } from './checkout-state';
import { type Html, html } from './html';
import type { Page } from './layout';
import { actionRequiredPage } from './pages/action-required';
import { agreementPage } from './pages/agreement';
import { type BankOptions, chooseBankPage } from './pages/bank';
import { choicePage } from './pages/choice';
import { closedPage } from './pages/closed';
import { completePage, redirectPage } from './pages/complete';
import { type DetailsOptions, type FormAlert, detailsPage } from './pages/details';
import { continuationCode, otherBrowserPage } from './pages/other-browser';
import { payNowOfferedPage, withdrawForm } from './pages/pay-now-offered';
import { payingPage } from './pages/paying';
import { waitingPage } from './pages/waiting';
import { bankName } from './provider-details';
import type { PageParts } from './read-request';

const DAY_MS = 86_400_000;

/**
 * A query string that adds a message to the page: why the answers of a form were not used, if that needs an
 * explanation.
 */
export const NOT_USED = '?message=not-used';

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

/** Builds the pages of an order, with forms for the requesting browser. */
export function createOrderPages({ forms, identity, providerDetailsOf, pathOf, retentionMs }: PageParts) {
  const formContext = async (ctx: Context, { order }: Checkout) => ({
    path: pathOf(order.payLinkId),
    token: await forms.createToken(ctx, order.payLinkId),
  });
  const codeOf = async ({ order, application }: Checkout): Promise<Html | undefined> =>
    application?.browserDigest ? continuationCode(await identity.codeOf(application), order.sellerName) : undefined;
  /** The code for the pages that are also shown before an application is submitted. Every browser may open those. */
  const codeOfSubmitted = async (checkout: Checkout): Promise<Html | undefined> =>
    checkout.application?.submitted ? codeOf(checkout) : undefined;

  async function choice(ctx: Context, checkout: Checkout, isMissing = false): Promise<Page> {
    const { order, application } = checkout;
    const providerDetails = providerDetailsOf(order);
    const today = londonDate(new Date());
    return choicePage({
      ...(await formContext(ctx, checkout)),
      order,
      quote: providerDetails.quote(order, today),
      today,
      lenderName: providerDetails.lenderName,
      chosen: application?.paymentTerm,
      isMissing,
    });
  }

  async function details(
    ctx: Context,
    checkout: Checkout,
    { values, errors, alert }: Partial<Pick<DetailsOptions, 'values' | 'errors' | 'alert'>> = {},
  ): Promise<Page> {
    const { order, application } = checkout;
    const providerDetails = providerDetailsOf(order);
    const context = await formContext(ctx, checkout);
    const isRetry = checkoutState(checkout) === 'retry';
    const shown = alert ?? (isRetry && !errors ? notProcessed(providerDetails.lenderName) : undefined);
    return detailsPage({
      ...context,
      order,
      providerDetails,
      quote: providerDetails.quote(order, londonDate(new Date())),
      values: values ?? valuesOf(isRetry ? application : undefined),
      errors: errors ?? {},
      ...(shown && { alert: shown }),
      replaces: isRetry ? application?.id : undefined,
      withdraw: isRetry ? withdrawForm(context, order.sellerName, 'failed') : undefined,
      retentionDays: Math.ceil(retentionMs / DAY_MS),
      code: await codeOfSubmitted(checkout),
    });
  }

  /** @param typed what the customer has typed in the application */
  async function banks(ctx: Context, checkout: Checkout, typed = EMPTY_FORM, isMissing = false): Promise<Page> {
    const { order, application, payment } = checkout;
    const context = await formContext(ctx, checkout);
    const decision = application?.submitted ? application.decision : undefined;
    const options: BankOptions = {
      ...context,
      order,
      providerDetails: providerDetailsOf(order),
      lastPayment: payment,
      isApplicant: identity.isApplicant(ctx, checkout),
      canPayLater: order.allowedPaymentTerms.includes('PAY_LATER') && decision?.kind !== 'declined',
      typed,
      isMissing,
      withdraw: decision ? withdrawForm(context, order.sellerName, decision.kind) : undefined,
      code: await codeOfSubmitted(checkout),
    };
    const isOffered = decision?.kind === 'declined' && !payment;
    return isOffered ? payNowOfferedPage({ ...options, reason: decision.code }) : chooseBankPage(options);
  }

  async function agreement(ctx: Context, checkout: Checkout, error?: string): Promise<Page> {
    const { order, application } = checkout;
    return agreementPage({
      ...(await formContext(ctx, checkout)),
      order,
      providerDetails: providerDetailsOf(order),
      offer: offerOf(application),
      applicant: application?.submitted?.applicant,
      today: londonDate(new Date()),
      error,
      code: await codeOf(checkout),
    });
  }

  /** @returns undefined if the browser may see the page of the order's state */
  async function otherBrowser(ctx: Context, checkout: Checkout, error?: string): Promise<Page | undefined> {
    const state = identity.hiddenState(ctx, checkout);
    return state && otherBrowserPage({ ...(await formContext(ctx, checkout)), state, checkout, error });
  }

  /** The page of a complete order, which continues to the seller. */
  async function complete(checkout: Checkout): Promise<Page> {
    const path = pathOf(checkout.order.payLinkId);
    const providerDetails = providerDetailsOf(checkout.order);
    return redirectPage({ checkout, providerDetails, code: await codeOf(checkout) }, path);
  }

  /** The page for the order's current state. */
  async function current(ctx: Context, checkout: Checkout): Promise<Page> {
    const page = (await otherBrowser(ctx, checkout)) ?? (await pageOfState(ctx, checkout));
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

  async function pageOfState(ctx: Context, checkout: Checkout): Promise<Page> {
    const { order, application, payment } = checkout;
    const providerDetails = providerDetailsOf(order);
    const state = checkoutState(checkout);
    const path = pathOf(order.payLinkId);
    const isRefreshing = ctx.query.refresh !== 'off';
    const isPaidNow = payment !== undefined && isCurrent(payment.status);
    switch (state) {
      case 'choice':
        return choice(ctx, checkout);
      case 'details':
      case 'retry':
        return details(ctx, checkout);
      case 'bank':
      case 'pay-now-offered':
        return banks(ctx, checkout);
      case 'paying':
        return payingPage({
          ...(await formContext(ctx, checkout)),
          order,
          bank: bankName(providerDetails, payment?.bank ?? ''),
          paymentId: payment?.id ?? '',
          update: { path, url: `${path}/return/`, isRefreshing, waitedMs: payment?.ageMs ?? 0 },
        });
      case 'action-required': {
        const waitedMs = Date.now() - (application?.submitted?.at.getTime() ?? 0);
        const update = { path, url: `${path}/`, isRefreshing, waitedMs };
        return actionRequiredPage({ providerDetails, update, code: await codeOf(checkout) });
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
          code: isPaidNow ? undefined : await codeOf(checkout),
        });
      case 'agreement':
        return agreement(ctx, checkout);
      case 'complete':
        return completePage({ checkout, providerDetails, code: await codeOf(checkout) });
      case 'declined':
      case 'failed':
      case 'expired':
      case 'cancelled':
      case 'approved-elsewhere':
        return closedPage(state, checkout, providerDetails);
    }
  }

  return { choice, details, banks, agreement, otherBrowser, complete, current };
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
