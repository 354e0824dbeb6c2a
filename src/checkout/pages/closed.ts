import { formatPence } from '../../domain/money';
import type { OrderChange } from '../../domain/order';
import type { DeclineCode } from '../domain/application';
import type { Checkout } from '../domain/checkout';
import type { ClosedState } from '../domain/checkout-state';
import { formatDateTime } from './format';
import { html } from '../../html/html';
import { type Page, wayBack } from './layout';
import type { ProviderDetails } from './provider-details';

interface Message {
  title: string;
  sentences: string[];
}

const MESSAGES: Record<
  ClosedState,
  (checkout: Checkout, closing: OrderChange | undefined, providerDetails: ProviderDetails) => Message
> = {
  declined: ({ order, application }, _, { lenderName }) => {
    const { decision } = application ?? {};
    return {
      title: 'Your application was not approved',
      sentences: [
        declineReason(decision?.kind === 'declined' ? decision.code : 'other', lenderName),
        `${order.sellerName} may offer you another payment method.`,
      ],
    };
  },
  failed: ({ order }) => ({
    title: 'Your order could not be completed',
    sentences: [
      'Your application could not be processed. This is not a decision about you or your business.',
      `If you still want to buy, ask ${order.sellerName} for a new order or for another payment method.`,
    ],
  }),
  expired: ({ order }, closing) => ({
    title: 'This order has expired',
    sentences: [
      `It had to be completed by ${formatDateTime(order.expiresAt ?? closing?.at ?? order.createdAt)}.`,
      `If you still want to buy, go back to ${order.sellerName} and order again.`,
    ],
  }),
  cancelled: ({ order }, closing) => {
    const isSeller = closing?.actor === 'seller';
    return {
      title: 'This order was cancelled',
      sentences: [
        `${isSeller ? `${order.sellerName} cancelled it` : 'It was cancelled'} on ${formatDateTime(closing?.at ?? order.createdAt)}.`,
        `If you still want to buy, go back to ${order.sellerName} and order again. If you did not expect this, ` +
          `ask ${order.sellerName}.`,
      ],
    };
  },
  'approved-elsewhere': ({ order }) => ({
    title: 'Your order is approved',
    sentences: [`You cannot complete it on this page. Contact ${order.sellerName} to find out what to do next.`],
  }),
};

export function declineReason(code: DeclineCode, lenderName: string): string {
  switch (code) {
    case 'affordability':
      return `Based on the turnover that you entered, ${lenderName} cannot offer Pay later for this amount.`;
    case 'credit_check':
      return `${lenderName} checked the details that you entered and could not approve your business this time.`;
    case 'other':
      return `${lenderName} could not approve this order.`;
  }
}

/** Why there is nothing to do, where the customer's money is, and what the customer can do next. */
export function closedMessage(state: ClosedState, checkout: Checkout, providerDetails: ProviderDetails): Message {
  const closing = checkout.order.changes.find(({ to }) => to === 'UNSUCCESSFUL');
  const { title, sentences } = MESSAGES[state](checkout, closing, providerDetails);
  const [why = '', ...next] = sentences;
  return { title, sentences: [why, ...(state === 'approved-elsewhere' ? [] : [money(checkout)]), ...next] };
}

export function closedPage(state: ClosedState, checkout: Checkout, providerDetails: ProviderDetails): Page {
  const { order, branding } = checkout;
  const { title, sentences } = closedMessage(state, checkout, providerDetails);
  const isOpen = state === 'approved-elsewhere';
  return {
    title,
    content: html`<p class="icon" aria-hidden="true">${isOpen ? '✓' : '–'}</p>
      <h1>${title}</h1>
      ${sentences.map((sentence) => html`<p>${sentence}</p>`)}
      <a class="button" href="${wayBack(order, branding)}">Return to ${order.sellerName}</a>`,
  };
}

/** Where the customer's money is. Everyone with the link may read it, so it does not name the bank. */
function money({ order, payment }: Checkout): string {
  const amount = formatPence(order.amountPence);
  if (order.status === 'UNSUCCESSFUL' && payment?.isOpen) {
    return (
      `If you approved a payment of ${amount} at your bank, it is returned to your account. ` +
      'You owe nothing for this order.'
    );
  }
  if (payment?.status === 'refunded') {
    return `Your payment of ${amount} was returned to your bank account. You owe nothing for this order.`;
  }
  return 'No payment was taken, and you owe nothing for this order.';
}
