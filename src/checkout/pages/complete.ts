import { offerOf } from '../domain/application';
import { formatPence } from '../../domain/money';
import { londonDate } from '../domain/calendar';
import type { Checkout } from '../domain/checkout';
import { PAYMENT_TERM_LABELS, formatDateTime } from './format';
import { type Html, html, row } from '../../html/html';
import { type Page, externalLink } from './layout';
import { bankName } from './provider-details';
import { repaymentSchedule } from './offer';
import type { View } from './view';

/**
 * How long the page of a new order is visible before it continues to the shop. A repayment schedule takes longer to
 * read.
 */
const REDIRECT_SECONDS = { withoutSchedule: 4, withSchedule: 15 };

/**
 * The receipt.
 * @param leaving states that the page continues to the shop. The notes about keeping the page are then left out
 */
export function completePage(view: View, leaving?: Html): Page {
  const { order, application, payment, providerDetails, elsewhere } = view;
  const { lenderName, creditAgreementUrl } = providerDetails;
  const completedAt = order.changes.find(({ to }) => to === 'SUCCESSFUL')?.at ?? order.createdAt;
  const bank = payment?.status === 'paid' ? bankName(providerDetails, payment.bank) : undefined;
  // If the order was completed in another way, nobody used the payment method that was chosen.
  const paymentTerm = bank !== undefined ? 'PAY_NOW' : application?.agreedAt ? 'PAY_LATER' : undefined;
  const provider = paymentTerm === 'PAY_LATER' ? lenderName : bank;
  const agreedAt = repaymentsAgreedAt(view);
  const offer = offerOf(application);
  const title = 'Your order is complete';
  return {
    title,
    paymentTerm,
    content: html`<p class="icon success" aria-hidden="true">✓</p>
      <h1>${title}</h1>
      ${leaving}
      <p>
        Thank you. ${order.sellerName} has your order of ${formatPence(order.amountPence)}.
        ${bank !== undefined && `${bank} paid it from your account.`}
      </p>
      <dl>
        ${row('Order reference', order.reference)} ${row('Completed', formatDateTime(completedAt))}
        ${
          paymentTerm &&
          row('Payment method', `${PAYMENT_TERM_LABELS[paymentTerm]}${provider === undefined ? '' : `, ${provider}`}`)
        }
      </dl>
      ${
        agreedAt &&
        html`<h2>Your repayments</h2>
          ${repaymentSchedule(offer, londonDate(agreedAt))}
          <p>You repay ${lenderName}, as the ${externalLink(creditAgreementUrl, 'credit agreement')} states.</p>`
      }
      <a class="button" href="${order.redirectUrl}">Return to ${order.sellerName}</a>
      ${
        !leaving &&
        html`<p class="note no-print">
            You can print or save this page for your records. It stays available at this link.
          </p>
          ${agreedAt && elsewhere}`
      }`,
  };
}

/**
 * When the customer agreed to repayments; null if there are none, or the order was completed in another way: then
 * nobody agreed to those of an approved application.
 */
export function repaymentsAgreedAt({ application }: Checkout): Date | null {
  return offerOf(application).instalments.length > 0 ? (application?.agreedAt ?? null) : null;
}

/** The page right after the order is completed. It continues to the shop after a moment. */
export function redirectPage(view: View): Page {
  const { order, path } = view;
  const afterSeconds = REDIRECT_SECONDS[repaymentsAgreedAt(view) ? 'withSchedule' : 'withoutSchedule'];
  // Announced first, so that nobody is taken away in the middle of reading (WCAG 2.2, 2.2.1).
  const note = html`<p class="message">
    This page takes you back to ${order.sellerName} in a moment. <a href="${path}/">Stay on this page</a>
  </p>`;
  // Not an HTTP redirect of the form: `form-action` also applies to the redirects of the seller's site that follow.
  return { ...completePage(view, note), refresh: { afterSeconds, url: order.redirectUrl } };
}
