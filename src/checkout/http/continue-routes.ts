import type Router from '@koa/router';
import { moveApplication } from '../db/mails';
import { findLink } from '../mail/continue-link';
import { LINK_USED, TOO_MANY_LINKS, continueHerePage } from '../pages/other-browser';
import { requestLink } from '../use-cases/application';
import type { Context, State } from './context';
import { LINK_SENT, formViewOf, mailTo, otherBrowser } from './order-pages';
import type { RouteTools } from './read-request';
import { sendPage } from './send-page';

const tokenOf = (ctx: Context): string => (ctx.params as { token?: string }).token ?? '';

/** How the applicant continues on another device: with a link by email. */
export function addContinueRoutes(router: Router<State>, tools: RouteTools): void {
  const { deps, identity, readSecret, loadCheckout, readForm, readLatest, redirect } = tools;

  router.post('/continue', async (ctx) => {
    const { checkout } = await readForm(ctx);
    const canMail = !identity.isApplicant(ctx, checkout) && mailTo(tools, checkout) !== undefined;
    const isRequested = canMail && (await requestLink(deps, checkout.order));
    const refused = canMail && !isRequested && (await otherBrowser(tools, ctx, checkout, TOO_MANY_LINKS));
    if (refused) sendPage(ctx, refused);
    else redirect(ctx, checkout, isRequested ? `?message=${LINK_SENT}` : '');
  });

  router.get('/continue/:token', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const isOpen = findLink(await readSecret(), checkout.application, tokenOf(ctx)) !== undefined;
    const shown = async () =>
      isOpen
        ? continueHerePage(await formViewOf(tools, ctx, checkout), tokenOf(ctx))
        : otherBrowser(tools, ctx, checkout, LINK_USED);
    const page = identity.isApplicant(ctx, checkout) ? undefined : await shown();
    if (page) sendPage(ctx, page);
    else redirect(ctx, checkout);
  });

  router.post('/continue/:token', async (ctx) => {
    const { checkout, browserSecret } = await readForm(ctx);
    const { order, application } = checkout;
    const requestedAt = findLink(await readSecret(), application, tokenOf(ctx));
    const isMoved =
      requestedAt &&
      (await moveApplication(deps.db, order.id, requestedAt, identity.digestOf(browserSecret, checkout)));
    if (isMoved) deps.log.info({ order_id: order.id }, 'application moved to another browser');
    // Read again, because a double click uses the link twice.
    const latest = await readLatest(order);
    const page = await otherBrowser(tools, ctx, latest, LINK_USED);
    if (page) sendPage(ctx, page);
    else redirect(ctx, checkout);
  });
}
