import { offerOf } from '../../domain/application';
import { formatPence } from '../../domain/money';
import { londonDate } from '../../lender/london-date';
import type { Checkout } from '../../orders/hosted-checkout';
import { PAYMENT_TERM_LABELS, formatDateTime } from '../format';
import { type Html, html } from '../html';
import type { Page } from '../layout';
import { repaymentSchedule } from './repayment-schedule';

/** @param code how the customer reads the page in another browser */
export function completePage({ order, changes, application }: Checkout, code?: Html): Page {
  const completedAt = changes.find(({ to }) => to === 'SUCCESSFUL')?.at ?? order.createdAt;
  const { paymentTerm, agreedAt } = application ?? {};
  const offer = offerOf(application);
  return {
    title: 'Your order is complete',
    content: html`<p class="icon success" aria-hidden="true">✓</p>
      <h1>Your order is complete</h1>
      <p>Thank you. Your order of ${formatPence(order.amountPence)} from ${order.sellerName} is complete.</p>
      <dl>
        <dt>Completed</dt>
        <dd>${formatDateTime(completedAt)}</dd>
        ${
          paymentTerm &&
          html`<dt>Payment method</dt>
            <dd>${PAYMENT_TERM_LABELS[paymentTerm]}</dd>`
        }
        <dt>Order ID</dt>
        <dd>${order.id}</dd>
      </dl>
      ${
        offer.instalments.length > 0 &&
        html`<h2>Your instalments</h2>
          ${repaymentSchedule(offer, londonDate(agreedAt ?? new Date(completedAt)))}`
      }
      <a class="button" href="${order.redirectUrl}">Back to ${order.sellerName}</a>
      <p class="note no-print">You can print or save this page for your records. It stays available at this link.</p>
      ${code}`,
  };
}

/** Redirects the customer to the seller right after the order is completed. */
export function redirectPage(checkout: Checkout, code?: Html): Page {
  const url = checkout.order.redirectUrl;
  // Not an HTTP redirect of the form: `form-action` also applies to the redirects of the seller's site that follow.
  return { ...completePage(checkout, code), refresh: { afterSeconds: 0, url } };
}
