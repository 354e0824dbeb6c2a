import type { Context } from 'koa';
import { offerOf } from '../domain/application';
import { londonDate } from '../lender/london-date';
import type { Checkout } from '../orders/hosted-checkout';
import { NO_ENTRIES } from './application-form';
import type { Csrf } from './csrf';
import { choicePage } from './pages/choice';
import { confirmationPage } from './pages/confirmation';
import type { DetailsOptions } from './pages/details';
import { detailsPage } from './pages/details';
import { endedPage, paidPage } from './pages/ended';
import { waitingPage } from './pages/waiting';
import { html } from './html';
import type { Page } from './page';
import { stageOf } from './stage';

const DAY_MS = 86_400_000;

/** Has the page say that an earlier application is the one that counts. */
export const FIRST_COUNTS = '?told=first-counts';

/** The pages of an order as it is, with forms for the browser that asks. */
export type Pages = ReturnType<typeof createPages>;

const firstCounts = html`<p class="told" role="status">
  You had sent an application for this order before, and that one counts. What you sent just now was not used.
</p>`;

/**
 * @param pathOf the path of an order's pages: `/pay/<pay_link_id>`
 * @param retentionMs how long after an order has closed its application is kept
 */
export function createPages(csrf: Csrf, pathOf: (payLinkId: string) => string, retentionMs: number) {
  const formContext = async (ctx: Context, { order }: Checkout) => ({
    path: pathOf(order.payLinkId),
    token: await csrf.tokenFor(ctx, order.payLinkId),
  });

  async function choice(ctx: Context, checkout: Checkout, isMissing: boolean): Promise<Page> {
    const { order, application } = checkout;
    return choicePage({ ...(await formContext(ctx, checkout)), order, chosen: application?.paymentTerm, isMissing });
  }

  async function details(
    ctx: Context,
    checkout: Checkout,
    filled: Pick<DetailsOptions, 'entries' | 'errors' | 'alert'>,
  ): Promise<Page> {
    return detailsPage({
      ...(await formContext(ctx, checkout)),
      paymentTerm: checkout.application?.paymentTerm ?? 'PAY_LATER',
      isOnlyTerm: checkout.order.allowedPaymentTerms.length === 1,
      retentionDays: Math.ceil(retentionMs / DAY_MS),
      ...filled,
    });
  }

  async function confirmation(ctx: Context, checkout: Checkout, wrong?: string): Promise<Page> {
    const { order, application } = checkout;
    return confirmationPage({
      ...(await formContext(ctx, checkout)),
      order,
      offer: offerOf(application),
      today: londonDate(new Date()),
      wrong,
    });
  }

  /** The page of the stage that the order is at. */
  async function current(ctx: Context, checkout: Checkout): Promise<Page> {
    const page = await pageOfStage(ctx, checkout);
    const isTold = ctx.query.told === 'first-counts' && checkout.application?.submitted;
    return isTold ? { ...page, content: html`${firstCounts} ${page.content}` } : page;
  }

  async function pageOfStage(ctx: Context, checkout: Checkout): Promise<Page> {
    const { order, application } = checkout;
    const stage = stageOf(checkout);
    switch (stage) {
      case 'choice':
        return choice(ctx, checkout, false);
      case 'details':
        if (ctx.query.change !== undefined) return choice(ctx, checkout, false);
        return details(ctx, checkout, { entries: NO_ENTRIES, errors: {} });
      case 'waiting':
      case 'referred':
      case 'completing':
        return waitingPage({
          path: pathOf(order.payLinkId),
          stage,
          since: application?.agreedAt ?? application?.submitted?.at ?? new Date(),
          isStill: ctx.query.still !== undefined,
          now: new Date(),
        });
      case 'confirmation':
        return confirmation(ctx, checkout);
      case 'paid':
        return paidPage(checkout);
      case 'declined':
      case 'failed':
      case 'expired':
      case 'cancelled':
      case 'approved-elsewhere':
        return endedPage(stage, checkout);
    }
  }

  return { choice, details, confirmation, current };
}
