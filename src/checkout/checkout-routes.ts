import Router from '@koa/router';
import type { Context, State } from './context';
import { findLogo } from './db/branding';
import { type Checkout, type CheckoutDependencies, returnFromLender } from './hosted-checkout';
import { notFound } from './order-core';
import type { ApplicantIdentity } from './applicant-identity';
import { addApplicationRoutes, waitForDecision } from './application-routes';
import type { Forms } from './forms';
import { createOrderPages } from './order-pages';
import { addPaymentRoutes } from './payment-routes';
import type { ProviderDetailsOf } from './provider-details';
import { createRequestReader, type PayLinkLimits } from './read-request';
import { sendPage } from './send-page';

interface CheckoutRouteOptions {
  deps: CheckoutDependencies;
  forms: Forms;
  identity: ApplicantIdentity;
  providerDetailsOf: ProviderDetailsOf;
  limits: PayLinkLimits;
  /** The path in front of `/pay/` in public addresses; usually empty. */
  pathPrefix: string;
  retentionMs: number;
}

/** The routes under `/pay/:payLinkId`. Every response is derived from stored data, never from an earlier request. */
export function checkoutRoutes(options: CheckoutRouteOptions): Router<State> {
  const { deps, forms, identity, providerDetailsOf, limits, pathPrefix, retentionMs } = options;
  const router = new Router<State>({ prefix: '/pay/:payLinkId', sensitive: true });
  const pathOf = (payLinkId: string): string => `${pathPrefix}/pay/${payLinkId}`;
  const pages = createOrderPages({ forms, identity, providerDetailsOf, pathOf, retentionMs });
  const { lookUp, loadCheckout, readForm, readLatest } = createRequestReader({
    deps,
    forms,
    identity,
    providerDetailsOf,
    limits,
    pathOf,
  });

  const redirect = (ctx: Context, { order }: Checkout, suffix = ''): void => {
    ctx.status = 303;
    ctx.redirect(`${pathOf(order.payLinkId)}/${suffix}`);
  };

  router.get('/', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    sendPage(ctx, await pages.current(ctx, checkout));
  });

  router.get('/return', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const { status } = checkout.order;
    if (await returnFromLender(deps, checkout)) await waitForDecision(readLatest, checkout);
    if (status === 'SUCCESSFUL' && identity.isApplicant(ctx, checkout)) sendPage(ctx, await pages.complete(checkout));
    else redirect(ctx, checkout);
  });

  const tools = {
    deps,
    identity,
    limits,
    pathOf,
    providerDetailsOf,
    pages,
    readForm,
    loadCheckout,
    readLatest,
    redirect,
  };
  addApplicationRoutes(router, tools);
  addPaymentRoutes(router, tools);

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
