import type { Offer } from '../../domain/application';
import { monthsAfter } from '../../domain/calendar';
import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import type { Html } from '../html';
import { html } from '../html';
import type { Page } from '../page';
import { formatDate, interestSentences } from '../words';
import type { FormContext } from './form';
import { errorSummary, form } from './form';

export const NOT_AGREED = 'Tick the box to agree to the repayments';
export const OTHER_DATES =
  'A new day has begun, and the dates have moved with it: look at them again, and agree to them';

/** The field that says which dates the customer saw. */
export const AGREED_ON = 'agreed_on';

export interface ConfirmationOptions extends FormContext {
  order: Order;
  /** Without instalments all is paid at once. */
  offer: Offer;
  /** The calendar date that the instalments count from. */
  today: string;
  /** Why the form came back. */
  wrong: string | undefined;
}

/** The last step: what is agreed to, and the word that completes the order. */
export function confirmationPage(options: ConfirmationOptions): Page {
  return options.offer.instalments.length > 0 ? payLater(options) : payNow(options);
}

function payLater(options: ConfirmationOptions): Page {
  const { order, offer, today, wrong } = options;
  const title = 'You are approved';
  const total = formatPence(totalOf(offer));
  return {
    status: wrong === undefined ? 200 : 422,
    title: wrong === undefined ? title : `Error: ${title}`,
    step: 4,
    content: html`<h1>${title}</h1>
      <p>${order.sellerName} is paid when you complete the order. You repay ${total} like this:</p>
      ${wrong !== undefined && errorSummary([{ field: 'agree', message: wrong }])} ${schedule(offer, today)}
      ${order.pricing.representativeInterest > 0 && terms(order)}
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
              ${wrong !== undefined && html`aria-invalid="true" aria-describedby="not-agreed" autofocus`}
            />
            <span>I agree, for my business, to repay ${total} in these instalments.</span>
          </label>
          ${wrong !== undefined && html`<p class="wrong" id="not-agreed">${wrong}</p>`}
          <button>Agree and complete order</button>`,
      )}
      <p class="aside">You will find these repayments at this link afterwards, too.</p>`,
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
      <p>You pay ${amount} to ${order.sellerName} at once. There is no interest and nothing to repay.</p>
      ${form(options, 'confirmation', html`<button>Pay ${amount}</button>`)}`,
  };
}

/** What the interest comes from. */
function terms({ pricing }: Order): Html[] {
  return interestSentences(pricing, new Date()).map((sentence) => html`<p class="aside">${sentence}</p>`);
}

/**
 * The instalments as a table.
 * @param agreedOn the calendar date of the agreement
 */
export function schedule(offer: Offer, agreedOn: string): Html {
  const { instalments, interestPence } = offer;
  return html`<table>
    <caption>
      ${interestPence === 0 ? 'No interest' : `Including ${formatPence(interestPence)} interest`}
    </caption>
    <thead>
      <tr>
        <th scope="col">Due</th>
        <th scope="col">Amount</th>
      </tr>
    </thead>
    <tbody>
      ${instalments.map(
        ({ due, dueInMonths, amountPence }) =>
          html`<tr>
            <th scope="row">${formatDate(due ?? monthsAfter(agreedOn, dueInMonths))}</th>
            <td>${formatPence(amountPence)}</td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row">Total to repay</th>
        <td>${formatPence(totalOf(offer))}</td>
      </tr>
    </tfoot>
  </table>`;
}

function totalOf({ instalments }: Offer): number {
  return instalments.reduce((sum, { amountPence }) => sum + amountPence, 0);
}
