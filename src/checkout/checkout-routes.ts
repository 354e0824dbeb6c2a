import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import Router from '@koa/router';
import type { Context, State } from './context';
import { isProblem } from '../contracts/problem';
import { findLogo } from '../db/branding';
import { isDatabaseUnavailable } from '../db/database-errors';
import { londonDate } from '../lender/london-date';
import type { OrderDependencies } from '../orders/dependencies';
import {
  type Checkout,
  agreeToOffer,
  choosePaymentTerm,
  ensurePaymentTerm,
  readCheckout,
  submitApplication,
  withdrawApplication,
} from '../orders/hosted-checkout';
import { notFound } from '../orders/not-found';
import type { ApplicantIdentity } from './applicant-identity';
import { toFormValues, validateForm } from './application-form';
import { type CheckoutState, checkoutState } from './checkout-state';
import type { Csrf } from './csrf';
import { enterCode } from './enter-code';
import { NOT_USED, createOrderPages } from './order-pages';
import { AGREE, AGREED_ON, DATES_CHANGED, NOT_AGREED } from './pages/agreement';
import { PAYMENT_TERM } from './pages/choice';
import { REPLACES } from './pages/details';
import { SERVICE_UNAVAILABLE } from './pages/error-page';
import { CODE } from './pages/other-browser';
import { addPaymentRoutes } from './payment-routes';
import type { ProviderDetailsOf } from './provider-details';
import { createRequestReader, type PayLinkLimits } from './read-request';
import { sendPage } from './send-page';

/** Most decisions arrive within this time, so most customers never see the waiting page. */
const DECISION_WAIT_MS = 3000;
const DECISION_POLL_MS = 200;
/** The customer can choose the payment method. */
const CHOICE_STATES: readonly CheckoutState[] = ['choice', 'details', 'retry', 'bank'];

interface CheckoutRouteOptions {
  deps: OrderDependencies;
  csrf: Csrf;
  identity: ApplicantIdentity;
  providerDetailsOf: ProviderDetailsOf;
  limits: PayLinkLimits;
  /** The path in front of `/pay/` in public addresses; usually empty. */
  pathPrefix: string;
  retentionMs: number;
}

/** The routes under `/pay/:payLinkId`. Every response is derived from stored data, never from an earlier request. */
export function checkoutRoutes(options: CheckoutRouteOptions): Router<State> {
  const { deps, csrf, identity, providerDetailsOf, limits, pathPrefix, retentionMs } = options;
  const router = new Router<State>({ prefix: '/pay/:payLinkId', sensitive: true });
  const pathOf = (payLinkId: string): string => `${pathPrefix}/pay/${payLinkId}`;
  const pages = createOrderPages({ csrf, identity, providerDetailsOf, pathOf, retentionMs });
  const { lookUp, loadCheckout, readForm } = createRequestReader({
    deps,
    csrf,
    providerDetailsOf,
    limits,
    pathOf,
  });

  /** True if the form of the requesting browser may submit an application. */
  const canApply = (ctx: Context, checkout: Checkout): boolean => {
    const state = checkoutState(checkout);
    return state === 'details' || (state === 'retry' && identity.isApplicant(ctx, checkout));
  };

  const redirect = (ctx: Context, { order }: Checkout, suffix = ''): void => {
    ctx.status = 303;
    ctx.redirect(`${pathOf(order.payLinkId)}/${suffix}`);
  };

  router.get('/', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    sendPage(ctx, await pages.current(ctx, checkout));
  });

  router.post('/choice', async (ctx) => {
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
      sendPage(ctx, await pages.choice(ctx, checkout, true));
      return;
    }
    await choosePaymentTerm(deps, checkout, term);
    redirect(ctx, checkout);
  });

  router.post('/application', async (ctx) => {
    const { checkout, fields, browserSecret } = await readForm(ctx);
    const values = toFormValues(fields);
    const result = validateForm(values);
    if (canApply(ctx, checkout)) {
      if ('errors' in result) {
        sendPage(ctx, await pages.details(ctx, checkout, { values, errors: result.errors }));
        return;
      }
      try {
        await ensurePaymentTerm(deps, checkout, 'PAY_LATER');
        await submitApplication(deps, checkout, {
          applicant: result.applicant,
          browserDigest: identity.digestOf(browserSecret, checkout),
          replaces: fields[REPLACES] || undefined,
        });
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        // Keeps the customer's answers, which a general error page would lose.
        const alert = { status: 503, text: SERVICE_UNAVAILABLE.text };
        sendPage(ctx, await pages.details(ctx, checkout, { values, errors: {}, alert }));
        return;
      }
      await waitForDecision(deps, checkout.order.payLinkId);
    }
    const latest = await readCheckout(deps, checkout.order.payLinkId);
    // The answers of another browser's application are compared only for its applicant: others could guess them.
    const isUsed =
      identity.isApplicant(ctx, latest) &&
      'applicant' in result &&
      isDeepStrictEqual(result.applicant, latest.application?.submitted?.applicant);
    redirect(ctx, checkout, isUsed ? '' : NOT_USED);
  });

  router.post('/give-up', async (ctx) => {
    const { checkout } = await readForm(ctx);
    const state = checkoutState(checkout);
    const isOpen = state === 'retry' || state === 'pay-now-offered' || state === 'bank';
    if (isOpen && identity.isApplicant(ctx, checkout)) await withdrawApplication(deps, checkout);
    redirect(ctx, checkout);
  });

  router.post('/confirmation', async (ctx) => {
    const { checkout, fields } = await readForm(ctx);
    if (!identity.isApplicant(ctx, checkout)) {
      redirect(ctx, checkout);
      return;
    }
    const now = new Date();
    const error = checkoutState(checkout) === 'agreement' ? agreementError(fields, now) : undefined;
    if (error !== undefined) {
      sendPage(ctx, await pages.agreement(ctx, checkout, error));
      return;
    }
    await agreeToOffer(deps, checkout, identity.digestsOf(ctx, checkout), now);
    const { order } = await readCheckout(deps, checkout.order.payLinkId);
    redirect(ctx, checkout, order.status === 'SUCCESSFUL' ? 'return/' : '');
  });

  router.get('/return', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const { status } = checkout.order;
    if (status === 'SUCCESSFUL' && identity.isApplicant(ctx, checkout)) sendPage(ctx, await pages.complete(checkout));
    else redirect(ctx, checkout);
  });

  router.post('/continue', async (ctx) => {
    const { checkout, fields, browserSecret } = await readForm(ctx);
    const isOther = !identity.isApplicant(ctx, checkout);
    const error = isOther ? await enterCode(deps, identity, checkout, fields[CODE] ?? '', browserSecret) : undefined;
    // Read again, because a double click enters the code twice.
    const latest = await readCheckout(deps, checkout.order.payLinkId);
    const page = error === undefined ? undefined : await pages.otherBrowser(ctx, latest, error);
    if (page) sendPage(ctx, page);
    else redirect(ctx, checkout);
  });

  addPaymentRoutes(router, { deps, identity, providerDetailsOf, pages, readForm, loadCheckout, redirect });

  // A customer who reloads the response to a form.
  for (const form of ['choice', 'application', 'give-up', 'confirmation', 'continue', 'payment', 'payment/cancel']) {
    router.get(`/${form}`, async (ctx) => redirect(ctx, await loadCheckout(ctx)));
  }

  router.get('/logo', async (ctx) => {
    const logo = await lookUp(ctx, async (payLinkId) => {
      const found = await findLogo(deps.db, payLinkId);
      if (!found) throw notFound();
      return found;
    });
    ctx.type = logo.type;
    ctx.set('Cache-Control', 'private, max-age=300');
    ctx.body = logo.bytes;
  });

  return router;
}

function isUnavailable(error: unknown): boolean {
  return isDatabaseUnavailable(error) || isProblem(error, 'service_unavailable');
}

async function waitForDecision(deps: OrderDependencies, payLinkId: string): Promise<void> {
  const deadline = Date.now() + DECISION_WAIT_MS;
  while (checkoutState(await readCheckout(deps, payLinkId)) === 'waiting' && Date.now() < deadline) {
    await delay(DECISION_POLL_MS);
  }
}

/** The customer can agree only to the due dates that the page showed. */
function agreementError(fields: Record<string, string>, now: Date): string | undefined {
  if (fields[AGREE] !== 'yes') return NOT_AGREED;
  return fields[AGREED_ON] === londonDate(now) ? undefined : DATES_CHANGED;
}
