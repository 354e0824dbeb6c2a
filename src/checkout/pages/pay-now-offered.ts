import type { DeclineCode, LenderDecision } from '../domain/application';
import { formatPence } from '../../domain/money';
import { type Html, html } from '../../html/html';
import type { Page } from './layout';
import { type BankOptions, bankForm, withError } from './bank';
import { type FormContext, form } from './form';

export function declineReason(code: DeclineCode, lenderName: string): string {
  switch (code) {
    case 'affordability':
      return `Based on the turnover that you entered, ${lenderName} cannot offer Pay later for this amount.`;
    case 'credit_check':
      return `${lenderName} checked the details that you entered and could not approve your business this time.`;
    case 'other':
      return `${lenderName} could not approve this order.`;
  }
}

interface PayNowOfferedOptions extends BankOptions {
  reason: DeclineCode;
}

/** The lender has declined, and the customer can pay now instead. */
export function payNowOfferedPage(options: PayNowOfferedOptions): Page {
  const { order, providerDetails, reason, withdraw, elsewhere } = options;
  const title = 'Pay later was not approved';
  return {
    ...withError(options),
    title,
    step: 'Your bank',
    content: html`<h1>${title}</h1>
      <p>${declineReason(reason, providerDetails.lenderName)} You owe nothing.</p>
      <h2>Pay now instead</h2>
      <p>You can still buy: pay ${formatPence(order.amountPence)} from your bank account. There is no credit check.</p>
      ${bankForm(options)} ${elsewhere} ${withdraw}`,
  };
}

/**
 * Ends an order that the customer could still complete.
 * @param decision the seller gets its reason
 */
export function withdrawForm(context: FormContext, sellerName: string, decision: LenderDecision['kind']): Html {
  const reason = decision === 'failed' ? 'could not be processed' : 'was not approved';
  return html`<hr />
    <h2>Do not want to continue?</h2>
    <p>End this order. We then tell ${sellerName} that the application ${reason}.</p>
    ${form(context, 'withdraw', html`<button class="secondary">End this order</button>`)}`;
}
