import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import Router from '@koa/router';
import type { Context } from 'koa';
import { findLogo } from '../db/branding';
import { isDatabaseUnavailable } from '../db/database-errors';
import { offerOf } from '../domain/application';
import { londonDate } from '../lender/london-date';
import type { OrderDependencies } from '../orders/dependencies';
import {
  type Checkout,
  choosePaymentTerm,
  confirmOrder,
  readCheckout,
  submitApplication,
} from '../orders/hosted-checkout';
import { notFound } from '../orders/not-found';
import type { Applicants } from './applicants';
import { toFormValues, validateForm } from './application-form';
import { checkoutState } from './checkout-state';
import type { Csrf } from './csrf';
import { enterCode } from './enter-code';
import type { Page } from './layout';
import { ALREADY_SUBMITTED, createOrderPages } from './order-pages';
import { AGREED_ON, DATES_CHANGED, NOT_AGREED } from './pages/confirmation';
import { paymentTermChanged } from './pages/details';
import { SERVICE_UNAVAILABLE } from './pages/error-page';
import { CODE } from './pages/other-browser';
import { createRequestReader, type RequestReaderOptions } from './read-request';
import { sendPage } from './send-page';

/** Most decisions arrive within this time, so most customers never see the waiting page. */
const DECISION_WAIT_MS = 3000;
const DECISION_POLL_MS = 200;

export interface CheckoutRouteOptions {
  deps: OrderDependencies;
  csrf: Csrf;
  applicants: Applicants;
  countPayLink: RequestReaderOptions['countPayLink'];
  /** The path in front of `/pay/` in public addresses; usually empty. */
  pathPrefix: string;
  notice: string | undefined;
  retentionMs: number;
}

/** The routes under `/pay/:payLinkId`. Every response is derived from stored data, never from an earlier request. */
export function checkoutRoutes(options: CheckoutRouteOptions): Router {
  const { deps, csrf, applicants, countPayLink, pathPrefix, notice, retentionMs } = options;
  const router = new Router({ prefix: '/pay/:payLinkId', sensitive: true });
  const pathOf = (payLinkId: string): string => `${pathPrefix}/pay/${payLinkId}`;
  const pages = createOrderPages({ csrf, applicants, pathOf, retentionMs });
  const { readPayLinkId, loadCheckout, readForm } = createRequestReader({ deps, csrf, countPayLink, pathOf });
  const send = (ctx: Context, page: Page): void => sendPage(ctx, page, notice);

  const redirect = (ctx: Context, { order }: Checkout, suffix = ''): void => {
    ctx.status = 303;
    ctx.redirect(`${pathOf(order.payLinkId)}/${suffix}`);
  };

  router.get('/', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    send(ctx, await pages.current(ctx, checkout));
  });

  router.post('/choice', async (ctx) => {
    const { checkout, fields } = await readForm(ctx);
    const term = allowedTerm(checkout, fields);
    if (!['choice', 'details'].includes(checkoutState(checkout))) {
      const isUsed = applicants.isApplicant(ctx, checkout) && term === checkout.application?.paymentTerm;
      redirect(ctx, checkout, isUsed ? '' : ALREADY_SUBMITTED);
      return;
    }
    if (term === undefined) {
      send(ctx, await pages.choice(ctx, checkout, true));
      return;
    }
    await choosePaymentTerm(deps, checkout, term);
    redirect(ctx, checkout);
  });

  router.post('/application', async (ctx) => {
    const { checkout, fields, browser } = await readForm(ctx);
    const values = toFormValues(fields);
    const result = validateForm(values);
    if (checkoutState(checkout) === 'details') {
      if ('errors' in result) {
        send(ctx, await pages.details(ctx, checkout, { values, errors: result.errors }));
        return;
      }
      const term = allowedTerm(checkout, fields);
      try {
        const digest = applicants.digestOf(browser, checkout);
        if (term !== undefined) await submitApplication(deps, checkout, term, result.applicant, digest);
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
        // Keeps the customer's answers, which a general error page would lose.
        send(ctx, await pages.details(ctx, checkout, { values, errors: {}, alert: SERVICE_UNAVAILABLE }));
        return;
      }
      await waitForDecision(deps, checkout.order.payLinkId);
    }
    const latest = await readCheckout(deps, checkout.order.payLinkId);
    const { application } = latest;
    // Not submitted: another window has chosen a payment term that this form did not show.
    if (checkoutState(latest) === 'details' && 'applicant' in result && application) {
      const alert = paymentTermChanged(application.paymentTerm);
      send(ctx, await pages.details(ctx, latest, { values, errors: {}, alert }));
      return;
    }
    // The answers of another browser's application are compared only for its applicant: others could guess them.
    const isUsed =
      applicants.isApplicant(ctx, latest) &&
      'applicant' in result &&
      isDeepStrictEqual(result.applicant, application?.submitted?.applicant);
    redirect(ctx, checkout, isUsed ? '' : ALREADY_SUBMITTED);
  });

  router.post('/confirmation', async (ctx) => {
    const { checkout, fields } = await readForm(ctx);
    if (!applicants.isApplicant(ctx, checkout)) {
      redirect(ctx, checkout);
      return;
    }
    const now = new Date();
    const error = checkoutState(checkout) === 'confirmation' ? confirmationError(checkout, fields, now) : undefined;
    if (error !== undefined) {
      send(ctx, await pages.confirmation(ctx, checkout, error));
      return;
    }
    await confirmOrder(deps, checkout, applicants.digestsOf(ctx, checkout), now);
    const { order } = await readCheckout(deps, checkout.order.payLinkId);
    redirect(ctx, checkout, order.status === 'SUCCESSFUL' ? 'return/' : '');
  });

  router.get('/return', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const { status } = checkout.order;
    if (status === 'SUCCESSFUL' && applicants.isApplicant(ctx, checkout)) send(ctx, await pages.complete(checkout));
    else redirect(ctx, checkout);
  });

  router.post('/continue', async (ctx) => {
    const { checkout, fields, browser } = await readForm(ctx);
    const isOther = !applicants.isApplicant(ctx, checkout);
    const error = isOther ? await enterCode(deps, applicants, checkout, fields[CODE] ?? '', browser) : undefined;
    // Read again, because a double click enters the code twice.
    const latest = await readCheckout(deps, checkout.order.payLinkId);
    const page = error === undefined ? undefined : await pages.otherBrowser(ctx, latest, error);
    if (page) send(ctx, page);
    else redirect(ctx, checkout);
  });

  // A customer who reloads the response to a form.
  for (const form of ['choice', 'application', 'confirmation', 'continue']) {
    router.get(`/${form}`, async (ctx) => redirect(ctx, await loadCheckout(ctx)));
  }

  router.get('/logo', async (ctx) => {
    const logo = await findLogo(deps.db, await readPayLinkId(ctx));
    if (!logo) throw notFound();
    ctx.type = logo.type;
    ctx.set('Cache-Control', 'private, max-age=300');
    ctx.body = logo.bytes;
  });

  return router;
}

function allowedTerm({ order }: Checkout, fields: Record<string, string>) {
  return order.allowedPaymentTerms.find((term) => term === fields.payment_term);
}

async function waitForDecision(deps: OrderDependencies, payLinkId: string): Promise<void> {
  const deadline = Date.now() + DECISION_WAIT_MS;
  while (checkoutState(await readCheckout(deps, payLinkId)) === 'waiting' && Date.now() < deadline) {
    await delay(DECISION_POLL_MS);
  }
}

/** The customer can agree only to the due dates that the page showed. */
function confirmationError({ application }: Checkout, fields: Record<string, string>, now: Date): string | undefined {
  if (offerOf(application).instalments.length === 0) return undefined;
  if (fields.agree !== 'yes') return NOT_AGREED;
  return fields[AGREED_ON] === londonDate(now) ? undefined : DATES_CHANGED;
}
