import { formatPence } from '../../domain/money';
import type { PaymentTerm } from '../../domain/order';
import { PAYMENT_TERM_LABELS, describeCost, describePayments } from './format';
import { html } from '../../html/html';
import type { Page } from './layout';
import { costBox } from './offer';
import { type RadioOption, PAYMENT_TERM, form, radioGroup } from './form';
import type { FormView, View } from './view';

const QUESTION = 'How would you like to pay?';
const NO_PRICE =
  'The repayments cannot be shown at the moment. You see them and agree to them before you owe anything.';
const MISSING = 'Select how you would like to pay';

/**
 * The payment method, with its price.
 * @param isMissing true if the form was sent without a choice
 */
export function choicePage(view: FormView, isMissing = false): Page {
  const { order, application } = view;
  // What the customer has chosen before, if that could not be reported to the order.
  const chosen = application?.paymentTerm;
  const [first] = order.allowedPaymentTerms;
  return {
    status: isMissing ? 422 : 200,
    title: QUESTION,
    step: 'Payment method',
    ...(isMissing && first && { errors: [{ field: first, message: MISSING }] }),
    content: form(
      view,
      'choice',
      html`${radioGroup(
          PAYMENT_TERM,
          html`<h1>${QUESTION}</h1>`,
          order.allowedPaymentTerms.map((term) => option(view, term)),
          { chosen, error: isMissing ? MISSING : undefined },
        )} <button>Continue</button>`,
    ),
  };
}

function option({ order, providerDetails, today }: View, term: PaymentTerm): RadioOption {
  const label = PAYMENT_TERM_LABELS[term];
  if (term === 'PAY_NOW') {
    const price = html`<b>${formatPence(order.amountPence)}</b>`;
    return { value: term, label, lines: [price, 'From your bank account, approved at your bank.'] };
  }
  const quote = providerDetails.quote(order, today);
  if (!quote) return { value: term, label, lines: [NO_PRICE] };
  const price = html`<b>${describePayments(quote)}</b>`;
  return {
    value: term,
    label,
    lines: [price, describeCost(quote, order.amountPence, today)],
    details: html`<div class="details">
      ${costBox(order, quote, today, `Cost of Pay later with ${providerDetails.lenderName}`)}
      <p class="note">Subject to approval. You see your repayments and agree to them before you owe anything.</p>
    </div>`,
  };
}
