import Router from '@koa/router';
import type { State } from './context';
import { findLogo } from '../db/branding';
import { returnFromLender } from '../use-cases/application';
import { notFound } from '../order-core';
import { addApplicationRoutes, waitForDecision } from './application-routes';
import { addContinueRoutes } from './continue-routes';
import { addPaymentRoutes } from './payment-routes';
import type { PageParts } from './read-request';
import * as pages from './order-pages';
import { createRouteTools } from './route-tools';
import { sendPage } from './send-page';

/** The routes under `/pay/:payLinkId`. Every response is derived from stored data, never from an earlier request. */
export function checkoutRoutes(parts: PageParts): Router<State> {
  const router = new Router<State>({ prefix: '/pay/:payLinkId', sensitive: true });
  const tools = createRouteTools(parts);
  const { deps, identity, lookUp, loadCheckout, readLatest, redirect } = tools;

  router.get('/', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    sendPage(ctx, await pages.current(tools, ctx, checkout));
  });

  router.get('/return', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const { status } = checkout.order;
    if (await returnFromLender(deps, checkout)) await waitForDecision(readLatest, checkout);
    if (status === 'SUCCESSFUL' && identity.isApplicant(ctx, checkout)) sendPage(ctx, pages.complete(tools, checkout));
    else redirect(ctx, checkout);
  });

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
