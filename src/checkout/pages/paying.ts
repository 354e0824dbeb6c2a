import { formatPence } from '../../domain/money';
import { html } from '../../html/html';
import type { Page } from './layout';
import { form } from './form';
import { bankName } from './provider-details';
import type { FormView } from './view';
import { autoUpdate } from './waiting';

/** The form field with the id of the payment to cancel: another tab may have started a further one. */
export const PAYMENT = 'payment_id';

/** The customer has to approve the payment at the bank. */
export function payingPage(view: FormView): Page {
  const { order, payment, providerDetails, path } = view;
  const bank = bankName(providerDetails, payment?.bank ?? '');
  const title = `Approve the payment at ${bank}`;
  const { refresh, note } = autoUpdate(view, `${path}/return/`, payment?.ageMs ?? 0);
  return {
    title,
    step: 'Your payment',
    ...refresh,
    content: html`<h1>${title}</h1>
      <p>
        ${bank} asks you to approve a payment of ${formatPence(order.amountPence)} to ${order.sellerName}. No money is
        taken until you do.
      </p>
      <a class="button" href="${path}/bank/">Continue to ${bank}</a>
      ${form(
        view,
        'payment/cancel',
        html`<input type="hidden" name="${PAYMENT}" value="${payment?.id}" />
          <button class="secondary">Choose another bank</button>`,
      )}
      <p class="note">
        Have you approved it already? You can close this page: your order is completed as soon as ${bank} confirms the
        payment.
      </p>
      ${note}`,
  };
}

const THERE = { 'Your payment': 'You approve the payment there', 'Your application': 'You do one more step there' };

/** Takes the customer to a page of the bank or the lender. A link, because browsers may not follow a form to another host here. */
export function leavingPage(name: string, url: string, step: keyof typeof THERE): Page {
  const title = `Taking you to ${name}`;
  return {
    ...{ title, step },
    refresh: { afterSeconds: 0, url },
    content: html`<p class="icon busy"></p>
      <h1>${title}</h1>
      <p>${THERE[step]}, and come back here afterwards.</p>
      <a class="button" href="${url}">Continue to ${name}</a>`,
  };
}
