import { type Offer, totalPence } from '../domain/application';
import { monthsAfter } from '../calendar';
import { formatPence } from '../../domain/money';
import { formatDate } from '../format';
import { type Html, html } from '../html';

/**
 * A table of the instalments and their due dates.
 * @param agreedOn the calendar date of the agreement
 */
export function repaymentSchedule(offer: Offer, agreedOn: string): Html {
  const { instalments } = offer;
  return html`<table>
    <caption class="visually-hidden">
      Repayments
    </caption>
    <thead>
      <tr>
        <th scope="col">Due</th>
        <th scope="col">Amount</th>
      </tr>
    </thead>
    <tbody>
      ${instalments.map(
        ({ dueInMonths, amountPence }) =>
          html`<tr>
            <th scope="row">${formatDate(monthsAfter(agreedOn, dueInMonths))}</th>
            <td>${formatPence(amountPence)}</td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row">Total to repay</th>
        <td>${formatPence(totalPence(offer))}</td>
      </tr>
    </tfoot>
  </table>`;
}
