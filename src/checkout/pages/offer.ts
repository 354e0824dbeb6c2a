import { monthsAfter } from '../domain/calendar';
import { type Instalment, type Offer, totalPence } from '../domain/application';
import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import { describePromotion, formatDate, formatTotal } from './format';
import { type Html, html } from '../../html/html';

/** More than a double has digits. */
const HALVINGS = 60;
const PERCENT = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });

/**
 * What paying later costs: amount, interest, APR, the applied promotion and the total.
 * @param parties names to show above the cost, with their roles
 */
export function costBox(
  { amountPence }: Order,
  offer: Offer,
  heading: string,
  parties: readonly (readonly [role: string, name: string])[] = [],
): Html {
  const promotion = describePromotion(offer);
  const { annualInterest: rate = 0 } = offer;
  return html`<section class="cost">
    <h2>${heading}</h2>
    ${promotion !== undefined && html`<p class="promotion">${promotion}</p>`}
    ${
      parties.length > 0 &&
      html`<dl class="parties">
        ${parties.map(
          ([role, name]) =>
            html`<dt>${role}</dt>
              <dd>${name}</dd>`,
        )}
      </dl>`
    }
    <dl>
      <dt>Amount</dt>
      <dd>${formatPence(amountPence)}</dd>
      <dt>Interest${rate > 0 && ` at ${rate}% a year`}</dt>
      <dd>${formatPence(totalPence(offer) - amountPence)}</dd>
      <dt><abbr title="annual percentage rate">APR</abbr></dt>
      <dd>${PERCENT.format(annualPercentageRate(amountPence, offer.instalments))}%</dd>
      <dt class="total">Total to repay</dt>
      <dd class="total">${formatTotal(offer)}</dd>
    </dl>
  </section>`;
}

/**
 * The annual percentage rate (APR) of monthly repayments, in percent with one decimal, as the FCA's Handbook defines it
 * (CONC App 1.2): the yearly rate at which all repayments together are worth the amount today. It has no upper bound.
 */
export function annualPercentageRate(amountPence: number, instalments: readonly Instalment[]): number {
  const presentValue = (percent: number): number =>
    instalments.reduce(
      (sum, { dueInMonths, amountPence: part }) => sum + part / (1 + percent / 100) ** (dueInMonths / 12),
      0,
    );
  let [low, high] = [0, 100];
  if (presentValue(low) <= amountPence) return 0;
  while (presentValue(high) > amountPence) [low, high] = [high, 2 * high];
  for (let times = 0; times < HALVINGS; times++) {
    const middle = (low + high) / 2;
    if (presentValue(middle) > amountPence) low = middle;
    else high = middle;
  }
  return Math.round(high * 10) / 10;
}

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
