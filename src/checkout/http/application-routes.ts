import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type Router from '@koa/router';
import type { Context, State } from './context';
import { isProblem } from '../../contracts/problem';
import { isDatabaseUnavailable } from '../../db/database-errors';
import { isUuid } from '../../domain/text';
import { londonDate } from '../domain/calendar';
import type { Checkout } from '../domain/checkout';
import {
  agreeToOffer,
  choosePaymentTerm,
  ensurePaymentTerm,
  submitApplication,
  withdrawApplication,
} from '../use-cases/application';
import type { ApplicantIdentity } from './applicant-identity';
import { EMPTY_FORM, toFormValues, validateForm } from '../domain/application-form';
import { notFound } from '../order-core';
import { type CheckoutState, checkoutState } from '../domain/checkout-state';
import { NOT_USED, formViewOf } from './order-pages';
import { AGREE, AGREED_ON, DATES_CHANGED, NOT_AGREED, agreementPage } from '../pages/agreement';
import { sandboxLenderPage } from '../pages/action-required';
import { bankPage } from '../pages/bank';
import { choicePage } from '../pages/choice';
import { leavingPage } from '../pages/paying';
import { REPLACES, detailsPage } from '../pages/details';
import { PAYMENT_TERM } from '../pages/form';
import { SERVICE_UNAVAILABLE } from '../pages/error-page';
import type { RouteTools } from './read-request';
import { sendPage } from './send-page';

/** Most decisions arrive within this time, so most customers never see the waiting page. */
const DECISION_WAIT_MS = 3000;
const DECISION_POLL_MS = 200;
/** The customer can choose the payment method. */
const CHOICE_STATES: readonly CheckoutState[] = ['choice', 'details', 'retry', 'bank'];

/** The forms of a customer who chooses how to pay, and of one who pays later. */
export function addApplicationRoutes(router: Router<State>, tools: RouteTools): void {
  router.post('/choice', (ctx) => submitChoice(tools, ctx));
  router.post('/application', (ctx) => submitApplicationForm(tools, ctx));
  router.post('/withdraw', (ctx) => withdraw(tools, ctx));
  router.post('/confirmation', (ctx) => agree(tools, ctx));
  router.get('/lender', (ctx) => showLender(tools, ctx));
  router.get('/sandbox-lender', async (ctx) => {
    const { order } = await tools.loadCheckout(ctx);
    if (!order.sandbox) throw notFound('page');
    sendPage(ctx, sandboxLenderPage(tools.pathOf(order.payLinkId)));
  });
}

async function submitChoice(tools: RouteTools, ctx: Context): Promise<void> {
  const { deps, identity, readForm, readLatest, redirect } = tools;
  const { checkout, fields } = await readForm(ctx);
  const term = checkout.order.allowedPaymentTerms.find((allowed) => allowed === fields[PAYMENT_TERM]);
  const state = checkoutState(checkout);
  const isHidden = identity.hiddenState(ctx, checkout) !== undefined;
  if (!CHOICE_STATES.includes(state) || isHidden) {
    const isUsed = !isHidden && term === checkout.application?.paymentTerm;
    redirect(ctx, checkout, isUsed ? '' : NOT_USED);
    return;
  }
  if (term === undefined) {
    sendPage(ctx, choicePage(await formViewOf(tools, ctx, checkout), true));
    return;
  }
  await choosePaymentTerm(deps, checkout, term);
  const typed = toFormValues(fields);
  if (isDeepStrictEqual(typed, EMPTY_FORM)) {
    redirect(ctx, checkout);
    return;
  }
  // A redirect would lose what the customer has typed.
  const latest = await readLatest(checkout.order);
  const latestState = checkoutState(latest);
  if (latestState === 'bank') sendPage(ctx, bankPage(await formViewOf(tools, ctx, latest), typed));
  else if (latestState === 'details' || latestState === 'retry')
    sendPage(ctx, detailsPage(await formViewOf(tools, ctx, latest), { values: typed }));
  else redirect(ctx, checkout);
}

async function submitApplicationForm(tools: RouteTools, ctx: Context): Promise<void> {
  const { deps, identity, readForm, readLatest, redirect } = tools;
  const { checkout, fields, browserSecret } = await readForm(ctx);
  const values = toFormValues(fields);
  const result = validateForm(values);
  if (canApply(identity, ctx, checkout)) {
    if ('errors' in result) {
      sendPage(ctx, detailsPage(await formViewOf(tools, ctx, checkout), { values, errors: result.errors }));
      return;
    }
    try {
      await ensurePaymentTerm(deps, checkout, 'PAY_LATER');
      await submitApplication(deps, checkout, {
        applicant: result.applicant,
        browserDigest: identity.digestOf(browserSecret, checkout),
        // Postgres does not take every text.
        replaces: isUuid(fields[REPLACES]) ? fields[REPLACES] : undefined,
      });
    } catch (error) {
      if (!isDatabaseUnavailable(error) && !isProblem(error, 'service_unavailable')) throw error;
      // Keeps the customer's answers, which a general error page would lose.
      const unavailable = SERVICE_UNAVAILABLE.text;
      sendPage(ctx, detailsPage(await formViewOf(tools, ctx, checkout), { values, unavailable }));
      return;
    }
    await waitForDecision(readLatest, checkout);
  }
  const latest = await readLatest(checkout.order);
  // The answers of another browser's application are compared only for its applicant: others could guess them.
  const isUsed =
    identity.isApplicant(ctx, latest) &&
    'applicant' in result &&
    isDeepStrictEqual(result.applicant, latest.application?.submitted?.applicant);
  const leaves = isUsed && checkoutState(latest) === 'action-required';
  redirect(ctx, checkout, leaves ? 'lender/' : isUsed ? '' : NOT_USED);
}

/** Takes the customer to the page of the lender where an action is required. */
async function showLender(
  { identity, providerDetailsOf, loadCheckout, redirect }: RouteTools,
  ctx: Context,
): Promise<void> {
  const checkout = await loadCheckout(ctx);
  const { actionUrl } = checkout.application ?? {};
  const isRequired = checkoutState(checkout) === 'action-required' && identity.isApplicant(ctx, checkout);
  if (isRequired && actionUrl)
    sendPage(ctx, leavingPage(providerDetailsOf(checkout.order).lenderName, actionUrl, 'Your application'));
  else redirect(ctx, checkout);
}

/** The customer ends the order after a decline or a failure. */
async function withdraw({ deps, identity, readForm, redirect }: RouteTools, ctx: Context): Promise<void> {
  const { checkout } = await readForm(ctx);
  const state = checkoutState(checkout);
  const isOpen = state === 'retry' || state === 'pay-now-offered' || state === 'bank';
  if (isOpen && identity.isApplicant(ctx, checkout)) await withdrawApplication(deps, checkout);
  redirect(ctx, checkout);
}

async function agree(tools: RouteTools, ctx: Context): Promise<void> {
  const { deps, identity, readForm, readLatest, redirect } = tools;
  const { checkout, fields } = await readForm(ctx);
  if (!identity.isApplicant(ctx, checkout)) {
    redirect(ctx, checkout);
    return;
  }
  const now = new Date();
  const error = checkoutState(checkout) === 'agreement' ? agreementError(fields, now) : undefined;
  if (error !== undefined) {
    sendPage(ctx, agreementPage(await formViewOf(tools, ctx, checkout), error));
    return;
  }
  await agreeToOffer(deps, checkout, identity.digestsOf(ctx, checkout), now);
  const { order } = await readLatest(checkout.order);
  redirect(ctx, checkout, order.status === 'SUCCESSFUL' ? 'return/' : '');
}

function canApply(identity: ApplicantIdentity, ctx: Context, checkout: Checkout): boolean {
  const state = checkoutState(checkout);
  return state === 'details' || (state === 'retry' && identity.isApplicant(ctx, checkout));
}

/** Waits for the lender's answer, unless it takes longer than customers should wait for a page. */
export async function waitForDecision(readLatest: RouteTools['readLatest'], { order }: Checkout): Promise<void> {
  const deadline = Date.now() + DECISION_WAIT_MS;
  while (checkoutState(await readLatest(order)) === 'waiting' && Date.now() < deadline) {
    await delay(DECISION_POLL_MS);
  }
}

/** The customer can agree only to the due dates that the page showed. */
function agreementError(fields: Record<string, string>, now: Date): string | undefined {
  if (fields[AGREE] !== 'yes') return NOT_AGREED;
  return fields[AGREED_ON] === londonDate(now) ? undefined : DATES_CHANGED;
}
