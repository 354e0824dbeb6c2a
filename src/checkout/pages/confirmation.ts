import type { Offer } from '../../domain/application';
import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import { describeInterest } from '../format';
import { type Html, html } from '../html';
import type { Page } from '../layout';
import { errorSummary, form, type FormContext } from './form';
import { repaymentSchedule, totalPence } from './repayment-schedule';

export const NOT_AGREED = 'Tick the box to agree to the instalments';
export const DATES_CHANGED =
  'The due dates have changed because a new day has started. Check the new dates and agree again';

/** The form field with the date that the shown due dates count from. */
export const AGREED_ON = 'agreed_on';

export interface ConfirmationOptions extends FormContext {
  order: Order;
  offer: Offer;
  /** The calendar date that the instalments count from. */
  today: string;
  error: string | undefined;
  /** How the customer continues in another browser. */
  code: Html | undefined;
}

/** Step 4: the customer agrees to the offer, which completes the order. */
export function confirmationPage(options: ConfirmationOptions): Page {
  return options.offer.instalments.length > 0 ? payLater(options) : payNow(options);
}

function payLater(options: ConfirmationOptions): Page {
  const { order, offer, today, error } = options;
  const title = 'You are approved';
  const total = formatPence(totalPence(offer));
  return {
    status: error === undefined ? 200 : 422,
    title: error === undefined ? title : `Error: ${title}`,
    step: 4,
    content: html`<h1>${title}</h1>
      <p>
        If you complete the order, the lender pays ${order.sellerName}. You repay ${total} to the lender in these
        instalments:
      </p>
      ${error !== undefined && errorSummary([{ field: 'agree', message: error }])} ${repaymentSchedule(offer, today)}
      ${order.pricing.representativeInterest > 0 && interestTerms(order)}
      ${form(
        options,
        'confirmation',
        html`<input type="hidden" name="${AGREED_ON}" value="${today}" />
          <label class="agree">
            <input
              type="checkbox"
              id="agree"
              name="agree"
              value="yes"
              required
              ${error !== undefined && html`aria-invalid="true" aria-describedby="not-agreed" autofocus`}
            />
            <span>I agree, on behalf of my business, to repay ${total} in these instalments.</span>
          </label>
          ${error !== undefined && html`<p class="error" id="not-agreed">${error}</p>`}
          <button>Agree and complete order</button>`,
      )}
      <p class="note">You can see these instalments at this link after you complete the order.</p>
      ${options.code}`,
  };
}

function payNow(options: ConfirmationOptions): Page {
  const { order } = options;
  const amount = formatPence(order.amountPence);
  const title = 'Confirm your payment';
  return {
    title,
    step: 4,
    content: html`<h1>${title}</h1>
      <p>You pay ${amount} to ${order.sellerName} now. There is no interest and nothing to repay later.</p>
      ${form(options, 'confirmation', html`<button>Pay ${amount}</button>`)} ${options.code}`,
  };
}

function interestTerms({ pricing }: Order): Html[] {
  return describeInterest(pricing, new Date()).map((sentence) => html`<p class="note">${sentence}</p>`);
}
