import Router from '@koa/router';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { State } from './context';
import { findLogo } from '../db/branding';
import type { Checkout } from '../domain/checkout';
import { returnFromLender } from '../use-cases/application';
import { checkPayment } from '../use-cases/customer-payments';
import { notFound } from '../order-core';
import { addApplicationRoutes, waitForDecision } from './application-routes';
import { addContinueRoutes } from './continue-routes';
import { addPaymentRoutes } from './payment-routes';
import { current, viewOf } from './order-pages';
import { redirectPage } from '../pages/complete';
import type { RouteTools } from './read-request';
import { sendPage } from './send-page';

/** How often, in s, the browser of an order's applicant has the lender or the bank asked. A page updates every 5 s. */
const ASKS = { points: 4, duration: 10 };

/** The routes under `/pay/:payLinkId`. Every response is derived from stored data, never from an earlier request. */
export function checkoutRoutes(tools: RouteTools): Router<State> {
  const router = new Router<State>({ prefix: '/pay/:payLinkId', sensitive: true });
  const asks = new RateLimiterMemory(ASKS);
  const { deps, identity, lookUp, loadCheckout, readLatest, redirect } = tools;

  router.get('/', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    sendPage(ctx, await current(tools, ctx, checkout));
  });

  /** Asks the lender or the bank now, instead of when the checkout's workflow does. */
  async function askNow(checkout: Checkout): Promise<boolean> {
    const isAllowed = await asks.consume(checkout.order.id).then(
      () => true,
      () => false,
    );
    if (!isAllowed) return false;
    if (!(await returnFromLender(deps, checkout))) return checkPayment(deps, checkout);
    await waitForDecision(readLatest, checkout);
    return true;
  }

  // Where the customer comes back to. Anybody may have the link, or a mail program that looks at it: only the applicant's
  // browser has the lender or the bank asked.
  router.get('/return', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const isApplicant = identity.isApplicant(ctx, checkout);
    const hasAsked = isApplicant && (await askNow(checkout));
    const latest = hasAsked ? await readLatest(checkout.order) : checkout;
    if (latest.order.status === 'SUCCESSFUL' && isApplicant) sendPage(ctx, redirectPage(viewOf(tools, ctx, latest)));
    else redirect(ctx, checkout);
  });
  // Some banks return by a form, to which browsers add no cookie of ours. They add it to the GET that follows.
  router.post('/return', async (ctx) => redirect(ctx, await loadCheckout(ctx), 'return/'));

  addApplicationRoutes(router, tools);
  addPaymentRoutes(router, tools);
  addContinueRoutes(router, tools);

  // A customer who reloads the response to a form.
  for (const form of ['choice', 'application', 'withdraw', 'confirmation', 'continue', 'payment', 'payment/cancel']) {
    router.get(`/${form}`, async (ctx) => redirect(ctx, await loadCheckout(ctx)));
  }

  router.get('/logo', async (ctx) => {
    const logo = await lookUp(ctx, async ({ payLinkId }) => {
      const found = await findLogo(deps.db, payLinkId);
      if (!found) throw notFound('logo');
      return found;
    });
    ctx.type = logo.type;
    ctx.set('Cache-Control', 'private, max-age=300');
    ctx.body = logo.bytes;
  });

  return router;
}
