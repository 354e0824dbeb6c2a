import { monthsAfter } from '../domain/calendar';
import { type Instalment, type Offer, totalPence } from '../domain/application';
import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import { describePromotion, formatDate, formatTotal } from './format';
import { type Html, html, row } from '../../html/html';

/** More than a double has digits. */
const HALVINGS = 60;
const PERCENT = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });

const APR = html`<abbr title="annual percentage rate">APR</abbr>`;

/**
 * What paying later costs: amount, interest, APR, the applied promotion and the total.
 * @param today the calendar date that the repayments count from
 * @param parties names to show above the cost, with their roles
 */
export function costBox(
  { amountPence }: Order,
  offer: Offer,
  today: string,
  heading: string,
  parties: readonly (readonly [role: string, name: string])[] = [],
): Html {
  const promotion = describePromotion(offer, today);
  return html`<section class="cost">
    <h2>${heading}</h2>
    ${promotion !== undefined && html`<p class="promotion">${promotion}</p>`}
    ${parties.length > 0 && html`<dl class="parties">${parties.map(([role, name]) => row(role, name))}</dl>`}
    <dl>${costRows({ amountPence }, offer).map(([label, value]) => row(label === 'APR' ? APR : label, value))}</dl>
  </section>`;
}

/** The labels and values of `costBox`. */
export function costRows({ amountPence }: Pick<Order, 'amountPence'>, offer: Offer): [label: string, value: string][] {
  const { annualInterest: rate = 0, instalments } = offer;
  return [
    ['Amount', formatPence(amountPence)],
    [`Interest${rate > 0 ? ` at ${rate}% a year` : ''}`, formatPence(totalPence(offer) - amountPence)],
    ['APR', `${PERCENT.format(annualPercentageRate(amountPence, instalments))}%`],
    ['Total to repay', formatTotal(offer)],
  ];
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

/** When each instalment is due, and its amount. @param agreedOn the calendar date of the agreement */
export function dueDates({ instalments }: Offer, agreedOn: string): [due: string, amount: string][] {
  return instalments.map(({ dueInMonths, amountPence }) => [
    formatDate(monthsAfter(agreedOn, dueInMonths)),
    formatPence(amountPence),
  ]);
}

/**
 * A table of the instalments and their due dates.
 * @param agreedOn the calendar date of the agreement
 */
export function repaymentSchedule(offer: Offer, agreedOn: string): Html {
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
      ${dueDates(offer, agreedOn).map(
        ([due, amount]) =>
          html`<tr>
            <th scope="row">${due}</th>
            <td>${amount}</td>
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
