import type { DeclineCode } from '../../domain/application';
import { offerOf } from '../../domain/application';
import { londonDate } from '../../lender/london-date';
import { formatPence } from '../../domain/money';
import type { OrderChange } from '../../domain/order';
import type { Checkout } from '../../orders/hosted-checkout';
import { html } from '../html';
import type { Page } from '../page';
import type { EndStage } from '../stage';
import { TERM_NAMES, formatMoment, shopOf } from '../words';
import { schedule } from './confirmation';

const DECLINED: Record<DeclineCode, string> = {
  affordability: 'The lender cannot offer this amount to be paid later on the turnover you gave.',
  credit_check: 'After checks on the details you gave, the lender could not approve your business this time.',
  other: 'The lender could not approve this order.',
};
const NOTHING_PAID = 'Nothing has been paid, and you owe nothing for this order.';

export function paidPage({ order, changes, application }: Checkout): Page {
  const paidAt = changes.find(({ to }) => to === 'SUCCESSFUL')?.at ?? order.createdAt;
  const { paymentTerm, agreedAt } = application ?? {};
  const offer = offerOf(application);
  return {
    title: 'Your order is complete',
    content: html`<p class="mark good" aria-hidden="true">✓</p>
      <h1>Your order is complete</h1>
      <p>Thank you. ${order.sellerName} has been paid ${formatPence(order.amountPence)}.</p>
      <dl>
        <dt>Completed</dt>
        <dd>${formatMoment(paidAt)}</dd>
        ${
          paymentTerm &&
          html`<dt>Way to pay</dt>
            <dd>${TERM_NAMES[paymentTerm]}</dd>`
        }
        <dt>Order ID</dt>
        <dd>${order.id}</dd>
      </dl>
      ${
        offer.instalments.length > 0 &&
        html`<h2>What you repay</h2>
          ${schedule(offer, londonDate(agreedAt ?? new Date(paidAt)))}`
      }
      <a class="button" href="${order.redirectUrl}">Back to ${order.sellerName}</a>
      <p class="aside no-print">Print or save this page for your records. It stays at this link.</p>`,
  };
}

/** On the way back to the seller, right after the order was completed. */
export function leavingPage(checkout: Checkout): Page {
  const url = checkout.order.redirectUrl;
  // At once, and not as the answer to the form: `form-action` would stop what the seller's site redirects to in turn.
  return { ...paidPage(checkout), refresh: { afterSeconds: 0, url } };
}

interface Ending {
  title: string;
  sentences: string[];
}

/** What the page says of orders that ended without success, and of those that somebody else approved. */
const ENDINGS: Record<EndStage, (checkout: Checkout, end: OrderChange | undefined) => Ending> = {
  declined: ({ order, application }) => {
    const { decision } = application ?? {};
    const why = DECLINED[decision?.kind === 'declined' ? decision.code : 'other'];
    return {
      title: 'Your application was not approved',
      sentences: [why, `${NOTHING_PAID} ${order.sellerName} may offer you another way to pay.`],
    };
  },
  failed: ({ order }) => ({
    title: 'Something went wrong',
    sentences: [
      'The lender could not process your application. It was not a decision about you or your business.',
      `${NOTHING_PAID} Please ask ${order.sellerName} for a new order, or for another way to pay.`,
    ],
  }),
  expired: ({ order }, end) => ({
    title: 'This order has expired',
    sentences: [
      `It was open until ${formatMoment(end?.at ?? order.createdAt)}. ${NOTHING_PAID}`,
      `If you still want it, ask ${order.sellerName} for a new one.`,
    ],
  }),
  cancelled: ({ order }, end) => {
    const what = end?.actor === 'seller' ? `${order.sellerName} cancelled it` : 'It was cancelled';
    return {
      title: 'This order was cancelled',
      sentences: [
        `${what} on ${formatMoment(end?.at ?? order.createdAt)}. ${NOTHING_PAID}`,
        `If that is a surprise, ask ${order.sellerName}.`,
      ],
    };
  },
  'approved-elsewhere': ({ order }) => ({
    title: 'Your order is approved',
    sentences: [`It cannot be completed on this page. Please ask ${order.sellerName} how to go on.`],
  }),
};

export function endedPage(stage: EndStage, checkout: Checkout): Page {
  const { order, changes, branding } = checkout;
  const end = changes.find(({ to }) => to === 'UNSUCCESSFUL');
  const { title, sentences } = ENDINGS[stage](checkout, end);
  return {
    title,
    content: html`<p class="mark" aria-hidden="true">${stage === 'approved-elsewhere' ? '✓' : '–'}</p>
      <h1>${title}</h1>
      ${sentences.map((sentence) => html`<p>${sentence}</p>`)}
      <a class="button" href="${shopOf(order, branding)}">Back to ${order.sellerName}</a>`,
  };
}
