import type { Offer } from '../../domain/application';
import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import type { Html } from '../html';
import { html } from '../html';
import type { Page } from '../page';
import { formatDate } from '../words';
import type { FormContext } from './form';
import { errorSummary, form } from './form';

const NOT_AGREED = 'Tick the box to agree to the repayments';

export interface ConfirmationOptions extends FormContext {
  order: Order;
  /** Without instalments all is paid at once. */
  offer: Offer;
  /** Whether the form came back without the agreement. */
  isMissing: boolean;
}

/** The last step: what is agreed to, and the word that completes the order. */
export function confirmationPage(options: ConfirmationOptions): Page {
  return options.offer.instalments.length > 0 ? payLater(options) : payNow(options);
}

function payLater(options: ConfirmationOptions): Page {
  const { order, offer, isMissing } = options;
  const title = 'You are approved';
  const total = formatPence(totalOf(offer));
  return {
    status: isMissing ? 422 : 200,
    title: isMissing ? `Error: ${title}` : title,
    step: 4,
    content: html`<h1>${title}</h1>
      <p>${order.sellerName} is paid when you complete the order. You repay ${total} like this:</p>
      ${isMissing && errorSummary([{ field: 'agree', message: NOT_AGREED }])} ${schedule(offer)}
      ${form(
        options,
        'confirmation',
        html`<label class="agree">
            <input
              type="checkbox"
              id="agree"
              name="agree"
              value="yes"
              required
              ${isMissing && html`aria-invalid="true" aria-describedby="not-agreed" autofocus`}
            />
            <span>I agree, for my business, to repay ${total} in these instalments.</span>
          </label>
          ${isMissing && html`<p class="wrong" id="not-agreed">${NOT_AGREED}</p>`}
          <button>Agree and complete order</button>`,
      )}`,
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

/** The instalments as a table. */
export function schedule(offer: Offer): Html {
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
        ({ due, amountPence }) =>
          html`<tr>
            <th scope="row">${formatDate(due)}</th>
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
