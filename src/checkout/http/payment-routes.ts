import type Router from '@koa/router';
import type { State } from './context';
import { toFormValues } from '../domain/application-form';
import { cancelPayment, createPayment, startAtBank } from '../use-cases/customer-payments';
import { ensurePaymentTerm } from '../use-cases/application';
import { checkoutState } from '../domain/checkout-state';
import { BANK, bankPage } from '../pages/bank';
import { PAYMENT, leavingPage } from '../pages/paying';
import { bankName, banksOf } from '../pages/provider-details';
import { formViewOf } from './order-pages';
import type { RouteTools } from './read-request';
import { sendPage } from './send-page';

/** The routes of a customer who pays now: choose a bank, go there, cancel. */
export function addPaymentRoutes(router: Router<State>, tools: RouteTools): void {
  const { deps, identity, providerDetailsOf, readForm, loadCheckout, readLatest, redirect } = tools;

  router.post('/payment', async (ctx) => {
    const { checkout, fields, browserSecret } = await readForm(ctx);
    const state = checkoutState(checkout);
    const isHidden = identity.hiddenState(ctx, checkout) !== undefined;
    if ((state === 'bank' || state === 'pay-now-offered') && !isHidden) {
      const bank = banksOf(providerDetailsOf(checkout.order)).find(({ id }) => id === fields[BANK]);
      if (!bank) {
        sendPage(ctx, bankPage(await formViewOf(tools, ctx, checkout), toFormValues(fields), true));
        return;
      }
      await ensurePaymentTerm(deps, checkout, 'PAY_NOW');
      await createPayment(deps, checkout, bank.id, {
        browserDigest: identity.digestOf(browserSecret, checkout),
        ownDigests: identity.digestsOf(ctx, checkout),
      });
    }
    const latest = await readLatest(checkout.order);
    const isPaying = checkoutState(latest) === 'paying' && identity.isApplicant(ctx, latest);
    // Another tab may have started a payment at another bank: the order's page names it and offers to cancel it.
    redirect(ctx, checkout, isPaying && latest.payment?.bank === fields[BANK] ? 'bank/' : '');
  });

  router.get('/bank', async (ctx) => {
    const checkout = await loadCheckout(ctx);
    const { order, payment } = checkout;
    if (!payment || checkoutState(checkout) !== 'paying' || !identity.isApplicant(ctx, checkout)) {
      redirect(ctx, checkout);
      return;
    }
    const name = bankName(providerDetailsOf(order), payment.bank);
    const returnUrl = `${deps.checkoutBaseUrl}/pay/${order.payLinkId}/return/`;
    sendPage(ctx, leavingPage(name, await startAtBank(deps, payment, checkout, returnUrl), 'Your payment'));
  });

  router.post('/payment/cancel', async (ctx) => {
    const { checkout, fields } = await readForm(ctx);
    const isShown = fields[PAYMENT] === checkout.payment?.id;
    if (isShown && identity.isApplicant(ctx, checkout)) await cancelPayment(deps, checkout);
    redirect(ctx, checkout, 'return/');
  });
}
