import type { DeclineCode } from '../../domain/application';
import { formatPence } from '../../domain/money';
import type { Checkout } from '../../orders/hosted-checkout';
import type { Html } from '../html';
import { html } from '../html';
import type { Page } from '../page';
import type { Stage } from '../stage';
import { TERM_NAMES, formatMoment } from '../words';
import { schedule } from './confirmation';

const DECLINED: Record<DeclineCode, string> = {
  affordability: 'With the turnover that you told, the lender cannot offer this amount to be paid later.',
  credit_check: 'The lender could not approve your business this time, after checks with the details that you gave.',
  other: 'The lender could not approve this order.',
};
const NOTHING_PAID = 'Nothing has been paid, and you owe nothing for this order.';

export function paidPage({ order, changes, application }: Checkout): Page {
  const paidAt = changes.find(({ to }) => to === 'SUCCESSFUL')?.at ?? order.createdAt;
  const { paymentTerm, decision } = application ?? {};
  const offer = decision?.kind === 'approved' && decision.offer.instalments.length > 0 ? decision.offer : undefined;
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
          html`<dt>How</dt>
            <dd>${TERM_NAMES[paymentTerm]}</dd>`
        }
        <dt>Order</dt>
        <dd>${order.id}</dd>
      </dl>
      ${
        offer &&
        html`<h2>What you repay</h2>
          ${schedule(offer)}`
      }
      <a class="button" href="${order.redirectUrl}">Back to ${order.sellerName}</a>
      <p class="aside no-print">Print or save this page for your records.</p>`,
  };
}

/** On the way back to the seller, right after the order was completed. */
export function leavingPage(checkout: Checkout): Page {
  const url = checkout.order.redirectUrl;
  // At once, and not as the answer to the form: `form-action` would stop what the seller's site redirects to in turn.
  return { ...paidPage(checkout), refresh: { afterSeconds: 0, url } };
}

/** Orders that ended without success, and the one that somebody else approved. */
export function endedPage(stage: Stage, { order, changes, application }: Checkout): Page {
  const { sellerName } = order;
  const end = changes.find(({ to }) => to === 'UNSUCCESSFUL');
  switch (stage) {
    case 'declined': {
      const { decision } = application ?? {};
      return ended(order.redirectUrl, sellerName, 'Your application was not approved', [
        DECLINED[decision?.kind === 'declined' ? decision.code : 'other'],
        `${NOTHING_PAID} ${sellerName} may offer you another way to pay.`,
      ]);
    }
    case 'expired':
      return ended(order.redirectUrl, sellerName, 'This order has expired', [
        `It was open until ${formatMoment(end?.at ?? order.createdAt)}. ${NOTHING_PAID}`,
        `If you still want it, ask ${sellerName} for a new one.`,
      ]);
    case 'cancelled':
      return ended(order.redirectUrl, sellerName, 'This order was cancelled', [
        `${end?.actor === 'seller' ? `${sellerName} cancelled it` : 'It was cancelled'} on ${formatMoment(end?.at ?? order.createdAt)}. ${NOTHING_PAID}`,
        `If that is a surprise, ask ${sellerName}.`,
      ]);
    case 'approved-elsewhere':
      return ended(order.redirectUrl, sellerName, 'Your order is approved', [
        `It cannot be completed on this page. Please ask ${sellerName} how to go on.`,
      ]);
    default:
      return ended(order.redirectUrl, sellerName, 'Something went wrong', [
        'The lender could not process your application. That says nothing about you or your business.',
        `${NOTHING_PAID} Please ask ${sellerName} for a new order, or for another way to pay.`,
      ]);
  }
}

function ended(redirectUrl: string, sellerName: string, title: string, sentences: string[]): Page {
  return {
    title,
    content: html`<p class="mark" aria-hidden="true">${title === 'Your order is approved' ? '✓' : '–'}</p>
      <h1>${title}</h1>
      ${sentences.map((sentence) => html`<p>${sentence}</p>`)} ${wayBack(redirectUrl, sellerName)}`,
  };
}

/** To the seller's front door: the stored address is where an order that was completed leads. */
export function wayBack(redirectUrl: string, sellerName: string): Html {
  return html`<a class="button" href="${new URL(redirectUrl).origin}/">Back to ${sellerName}</a>`;
}
