import type { DeclineCode } from '../../domain/application';
import type { OrderChange } from '../../domain/order';
import type { Checkout } from '../../orders/hosted-checkout';
import type { ClosedState } from '../checkout-state';
import { formatDateTime } from '../format';
import { type Html, html } from '../html';
import { type Page, wayBack } from '../layout';

const DECLINE_REASONS: Record<DeclineCode, string> = {
  affordability: 'Based on the turnover that you entered, the lender cannot offer Pay later for this amount.',
  credit_check: 'The lender checked the details that you entered and could not approve your business this time.',
  other: 'The lender could not approve this order.',
};
const NOTHING_PAID = 'No payment was made, and you owe nothing for this order.';

interface Message {
  title: string;
  sentences: string[];
}

const MESSAGES: Record<ClosedState, (checkout: Checkout, closing: OrderChange | undefined) => Message> = {
  declined: ({ order, application }) => {
    const { decision } = application ?? {};
    const reason = DECLINE_REASONS[decision?.kind === 'declined' ? decision.code : 'other'];
    return {
      title: 'Your application was not approved',
      sentences: [reason, `${NOTHING_PAID} ${order.sellerName} may offer you another payment method.`],
    };
  },
  failed: ({ order }) => ({
    title: 'Something went wrong',
    sentences: [
      'The lender could not process your application. This is not a decision about you or your business.',
      `${NOTHING_PAID} Ask ${order.sellerName} for a new order or for another payment method.`,
    ],
  }),
  expired: ({ order }, closing) => ({
    title: 'This order has expired',
    sentences: [
      `It expired on ${formatDateTime(closing?.at ?? order.createdAt)}. ${NOTHING_PAID}`,
      `If you still want to buy, ask ${order.sellerName} for a new order.`,
    ],
  }),
  cancelled: ({ order }, closing) => {
    const what = closing?.actor === 'seller' ? `${order.sellerName} cancelled it` : 'It was cancelled';
    return {
      title: 'This order was cancelled',
      sentences: [
        `${what} on ${formatDateTime(closing?.at ?? order.createdAt)}. ${NOTHING_PAID}`,
        `If you did not expect this, contact ${order.sellerName}.`,
      ],
    };
  },
  'approved-elsewhere': ({ order }) => ({
    title: 'Your order is approved',
    sentences: [`You cannot complete it on this page. Contact ${order.sellerName} to find out what to do next.`],
  }),
};

/** @param code how the customer reads the page in another browser */
export function closedPage(state: ClosedState, checkout: Checkout, code?: Html): Page {
  const { order, changes, branding } = checkout;
  const closing = changes.find(({ to }) => to === 'UNSUCCESSFUL');
  const { title, sentences } = MESSAGES[state](checkout, closing);
  return {
    title,
    content: html`<p class="icon" aria-hidden="true">${state === 'approved-elsewhere' ? '✓' : '–'}</p>
      <h1>${title}</h1>
      ${sentences.map((sentence) => html`<p>${sentence}</p>`)}
      <a class="button" href="${wayBack(order, branding)}">Back to ${order.sellerName}</a>
      ${code}`,
  };
}
