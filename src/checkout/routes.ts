import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import Router from '@koa/router';
import type { Context } from 'koa';
import { findLogo } from '../db/branding';
import { isDatabaseUnavailable } from '../db/database-errors';
import { offerOf } from '../domain/application';
import { londonDate } from '../lender/london-date';
import type { OrderDependencies } from '../orders/dependencies';
import type { Checkout } from '../orders/hosted-checkout';
import { choosePaymentTerm, confirm, readCheckout, submitApplication } from '../orders/hosted-checkout';
import { isUuid } from '../domain/uuid';
import { notFound } from '../orders/not-found';
import { entriesOf, readEntries } from './application-form';
import { fieldsOf, formBody } from './body';
import type { Csrf } from './csrf';
import { TOKEN_FIELD } from './csrf';
import { FIRST_COUNTS, createPages } from './current-page';
import type { Page } from './page';
import { AGREED_ON, NOT_AGREED, OTHER_DATES } from './pages/confirmation';
import { chosenElsewhere } from './pages/details';
import { leavingPage } from './pages/ended';
import { UNAVAILABLE } from './pages/trouble';
import { show } from './show';
import { stageOf } from './stage';

/** Most decisions come at once: who is sent on after this moment seldom meets the page that waits. */
const DECISION_MOMENT_MS = 3000;
const LOOK_EVERY_MS = 200;

export interface RouteOptions {
  deps: OrderDependencies;
  csrf: Csrf;
  /** What stands before `/pay/` in the addresses that customers see; mostly nothing. */
  pathPrefix: string;
  /** @throws where a link is opened too often */
  countPayLink: (ctx: Context, payLinkId: string) => Promise<void>;
  notice: string | undefined;
  retentionMs: number;
}

/** What is behind an order's pay link. Each answer follows from what is stored; none from an earlier request. */
export function checkoutRoutes({ deps, csrf, pathPrefix, countPayLink, notice, retentionMs }: RouteOptions): Router {
  const router = new Router({ prefix: '/pay/:payLinkId' });
  const pathOf = (payLinkId: string): string => `${pathPrefix}/pay/${payLinkId}`;
  const pages = createPages(csrf, pathOf, retentionMs);
  const answer = (ctx: Context, page: Page): void => {
    show(ctx, page, notice);
  };

  const open = async (ctx: Context): Promise<Checkout> => {
    const payLinkId = payLinkOf(ctx);
    await countPayLink(ctx, payLinkId);
    const checkout = await readCheckout(deps, payLinkId);
    const { order, branding } = checkout;
    ctx.state.orderId = order.id;
    ctx.state.frame = { order, branding, path: pathOf(order.payLinkId) };
    return checkout;
  };

  /** The fields of a form that one of our pages made for this browser and this order. */
  const take = async (ctx: Context): Promise<{ checkout: Checkout; fields: Record<string, string> }> => {
    const fields = fieldsOf(ctx);
    const checkout = await open(ctx);
    await csrf.check(ctx, checkout.order.payLinkId, fields[TOKEN_FIELD] ?? '');
    return { checkout, fields };
  };

  const sendTo = (ctx: Context, { order }: Checkout, part = ''): void => {
    ctx.status = 303;
    ctx.redirect(`${pathOf(order.payLinkId)}/${part}`);
  };

  const untilDecided = async (payLinkId: string): Promise<void> => {
    const deadline = Date.now() + DECISION_MOMENT_MS;
    while (stageOf(await readCheckout(deps, payLinkId)) === 'waiting' && Date.now() < deadline) {
      await delay(LOOK_EVERY_MS);
    }
  };

  router.get('/', async (ctx) => {
    const checkout = await open(ctx);
    answer(ctx, await pages.current(ctx, checkout));
  });

  router.post('/choice', formBody, async (ctx) => {
    const { checkout, fields } = await take(ctx);
    const term = checkout.order.allowedPaymentTerms.find((allowed) => allowed === fields.payment_term);
    const isOpen = ['choice', 'details'].includes(stageOf(checkout));
    if (isOpen && term === undefined) {
      answer(ctx, await pages.choice(ctx, checkout, true));
      return;
    }
    if (isOpen && term !== undefined) await choosePaymentTerm(deps, checkout, term);
    sendTo(ctx, checkout, !isOpen && term !== checkout.application?.paymentTerm ? FIRST_COUNTS : '');
  });

  router.post('/application', formBody, async (ctx) => {
    const { checkout, fields } = await take(ctx);
    const entries = entriesOf(fields);
    const read = readEntries(entries);
    if (stageOf(checkout) === 'details') {
      if ('errors' in read) {
        answer(ctx, await pages.details(ctx, checkout, { entries, errors: read.errors }));
        return;
      }
      const term = checkout.order.allowedPaymentTerms.find((allowed) => allowed === fields.payment_term);
      try {
        if (term !== undefined) await submitApplication(deps, checkout, term, read.applicant);
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
        // Nobody should have to type it all again.
        answer(ctx, await pages.details(ctx, checkout, { entries, errors: {}, alert: UNAVAILABLE }));
        return;
      }
      await untilDecided(checkout.order.payLinkId);
    }
    const now = await readCheckout(deps, checkout.order.payLinkId);
    const { application } = now;
    // Not taken: another window has chosen another way to pay, which this form did not show.
    if (stageOf(now) === 'details' && 'applicant' in read && application) {
      const alert = chosenElsewhere(application.paymentTerm);
      answer(ctx, await pages.details(ctx, now, { entries, errors: {}, alert }));
      return;
    }
    const isUsed = 'applicant' in read && isDeepStrictEqual(read.applicant, application?.submitted?.applicant);
    sendTo(ctx, checkout, isUsed ? '' : FIRST_COUNTS);
  });

  router.post('/confirmation', formBody, async (ctx) => {
    const { checkout, fields } = await take(ctx);
    const now = new Date();
    const wrong = stageOf(checkout) === 'confirmation' ? wrongWith(checkout, fields, now) : undefined;
    if (wrong !== undefined) {
      answer(ctx, await pages.confirmation(ctx, checkout, wrong));
      return;
    }
    await confirm(deps, checkout, now);
    const { order } = await readCheckout(deps, checkout.order.payLinkId);
    sendTo(ctx, checkout, order.status === 'SUCCESSFUL' ? 'return/' : '');
  });

  // On to the seller, once the order is SUCCESSFUL and a GET says so.
  router.get('/return', async (ctx) => {
    const checkout = await open(ctx);
    if (checkout.order.status === 'SUCCESSFUL') answer(ctx, leavingPage(checkout));
    else sendTo(ctx, checkout);
  });

  // A reload of what a form answered.
  for (const part of ['choice', 'application', 'confirmation']) {
    router.get(`/${part}`, async (ctx) => {
      sendTo(ctx, await open(ctx));
    });
  }

  router.get('/logo', async (ctx) => {
    const payLinkId = payLinkOf(ctx);
    await countPayLink(ctx, payLinkId);
    const logo = await findLogo(deps.db, payLinkId);
    if (!logo) throw notFound();
    ctx.type = logo.type;
    ctx.set('Cache-Control', 'private, max-age=300');
    ctx.body = logo.bytes;
  });

  return router;
}

/** What keeps a confirmation from being one: only what was shown can be agreed to. */
function wrongWith({ application }: Checkout, fields: Record<string, string>, now: Date): string | undefined {
  if (offerOf(application).instalments.length === 0) return undefined;
  if (fields.agree !== 'yes') return NOT_AGREED;
  return fields[AGREED_ON] === londonDate(now) ? undefined : OTHER_DATES;
}

/** @throws Problem `not_found` */
function payLinkOf(ctx: Context): string {
  const { payLinkId = '' } = ctx.params as { payLinkId?: string };
  if (!isUuid(payLinkId)) throw notFound();
  return payLinkId.toLowerCase();
}
