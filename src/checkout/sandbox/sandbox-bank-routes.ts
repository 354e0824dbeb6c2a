import Router from '@koa/router';
import type { Context, State } from '../http/context';
import { isUuid } from '../../domain/text';
import { notFound } from '../order-core';
import { CANCELLED_AT_BANK, type SandboxBank } from './sandbox-bank';
import { BANK_TEST_CUSTOMERS } from './test-customers';
import type { Forms } from '../../html/forms';
import { CUSTOMER, DECISION, type PaymentOnPage, sandboxBankPage } from './sandbox-bank-page';
import { sendPage } from '../http/send-page';

/** The pages of the sandbox bank, under `/pay/sandbox-bank/<payment id>/`. They belong to the bank, not to an order. */
export function sandboxBankRoutes(bank: SandboxBank, forms: Forms, pathPrefix: string): Router<State> {
  const router = new Router<State>({ prefix: '/pay/sandbox-bank/:paymentId', sensitive: true });

  async function findPayment(ctx: Context): Promise<PaymentOnPage> {
    const { paymentId = '' } = ctx.params as { paymentId?: string };
    const payment = isUuid(paymentId) ? await bank.find(paymentId.toLowerCase()) : undefined;
    // A payment that was cancelled and never started has no page.
    if (!payment?.details) throw notFound('payment');
    return { ...payment, ...payment.details };
  }

  async function show(ctx: Context, payment: PaymentOnPage, isMissing: boolean): Promise<void> {
    const page = sandboxBankPage({
      path: `${pathPrefix}/pay/sandbox-bank`,
      token: await forms.createToken(ctx, payment.id),
      payment,
      status: bank.look(payment),
      bankName: bank.banks.find(({ id }) => id === payment.bank)?.name ?? 'Sandbox bank',
      isMissing,
    });
    sendPage(ctx, page);
  }

  router.get('/', async (ctx) => show(ctx, await findPayment(ctx), false));

  router.post('/', async (ctx) => {
    const payment = await findPayment(ctx);
    const { fields } = await forms.readVerifiedForm(ctx, payment.id);
    const customer = BANK_TEST_CUSTOMERS.find(({ name }) => name === fields[CUSTOMER])?.name;
    if (fields[DECISION] === 'cancel') await bank.decide(payment.id, CANCELLED_AT_BANK);
    else if (customer) await bank.decide(payment.id, customer);
    else {
      await show(ctx, payment, true);
      return;
    }
    ctx.status = 303;
    ctx.redirect(payment.returnUrl);
  });

  return router;
}
