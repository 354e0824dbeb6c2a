import { type Offer, totalPence } from '../domain/application';
import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import { annualPercentageRate } from '../lender/annual-rate';
import { describePromotion, formatTotal } from '../format';
import { type Html, html } from '../html';

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
      <dd>${annualPercentageRate(amountPence, offer.instalments)}%</dd>
      <dt class="total">Total to repay</dt>
      <dd class="total">${formatTotal(offer)}</dd>
    </dl>
  </section>`;
}
