import type Router from '@koa/router';
import type { Context } from 'koa';
import type { Order } from '../domain/order';
import { bankPageOf, cancelPayment, startPayment } from '../orders/customer-payments';
import type { OrderDependencies } from '../orders/dependencies';
import { type Checkout, choosePaymentTerm, readCheckout } from '../orders/hosted-checkout';
import { PaymentProviderUnavailable } from '../payments/payment-provider';
import type { Applicants } from './applicants';
import { checkoutState, isApplicantState } from './checkout-state';
import type { Page } from './layout';
import type { createOrderPages } from './order-pages';
import { BANK } from './pages/bank';
import { BANK_UNAVAILABLE, errorPage } from './pages/error-page';
import { toBankPage } from './pages/paying';
import { type ProfileOf, bankName } from './profile';
import type { SubmittedForm } from './read-request';
import type { CheckoutRequestState } from './send-page';

export interface PaymentRouteOptions {
  deps: OrderDependencies;
  applicants: Applicants;
  profileOf: ProfileOf;
  pages: ReturnType<typeof createOrderPages>;
  readForm: (ctx: Context) => Promise<SubmittedForm>;
  loadCheckout: (ctx: Context) => Promise<Checkout>;
  redirect: (ctx: Context, checkout: Checkout, suffix?: string) => void;
  send: (ctx: Context, page: Page) => void;
  /** Where banks send the customer afterwards. */
  returnUrlOf: (order: Order) => string;
}

/** The routes of a customer who pays now: choose a bank, go there, cancel. */
export function addPaymentRoutes(router: Router, options: PaymentRouteOptions): void {
  const { deps, applicants, profileOf, pages, readForm, loadCheckout, redirect, send, returnUrlOf } = options;

  router.post('/payment', async (ctx) => {
    const { checkout, fields, browser } = await readForm(ctx);
    const state = checkoutState(checkout);
    const isOwn = !isApplicantState(state, checkout) || applicants.isApplicant(ctx, checkout);
    if ((state === 'bank' || state === 'pay-now-offered') && isOwn) {
      const bank = profileOf(checkout.order).banks.find(({ id }) => id === fields[BANK]);
      if (!bank) {
        send(ctx, await pages.banks(ctx, checkout, true));
        return;
      }
      // As with an application: an order with one payment term can be PENDING without a choice.
      if (checkout.order.status === 'CREATED' || !checkout.application)
        await choosePaymentTerm(deps, checkout, 'PAY_NOW');
      await startPayment(deps, checkout, bank.id, {
        browserDigest: applicants.digestOf(browser, checkout),
        ownDigests: applicants.digestsOf(ctx, checkout),
      });
    }
    const latest = await readCheckout(deps, checkout.order.payLinkId);
    const isPaying = checkoutState(latest) === 'paying' && applicants.isApplicant(ctx, latest);
    // Another tab may have started a payment at another bank: the order's page names it and offers to cancel it.
    redirect(ctx, checkout, isPaying && latest.payment?.bank === fields[BANK] ? 'bank/' : '');
  });

  router.get('/bank', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const { order, payment } = checkout;
    if (!payment || checkoutState(checkout) !== 'paying' || !applicants.isApplicant(ctx, checkout)) {
      redirect(ctx, checkout);
      return;
    }
    const name = bankName(profileOf(order), payment.bank);
    try {
      send(ctx, toBankPage(name, await bankPageOf(deps, payment, checkout, returnUrlOf(order))));
    } catch (error) {
      if (!(error instanceof PaymentProviderUnavailable)) throw error;
      send(ctx, errorPage(BANK_UNAVAILABLE, (ctx.state as CheckoutRequestState).layout?.path));
    }
  });

  router.post('/payment/cancel', async (ctx) => {
    const { checkout } = await readForm(ctx);
    try {
      if (applicants.isApplicant(ctx, checkout)) await cancelPayment(deps, checkout);
      redirect(ctx, checkout, 'return/');
    } catch (error) {
      if (!(error instanceof PaymentProviderUnavailable)) throw error;
      send(ctx, errorPage(BANK_UNAVAILABLE, (ctx.state as CheckoutRequestState).layout?.path));
    }
  });
}
