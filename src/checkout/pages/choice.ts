import type { Offer } from '../domain/application';
import { formatPence } from '../../domain/money';
import type { Order, PaymentTerm } from '../../domain/order';
import { PAYMENT_TERM_LABELS, describeCost, describePayments } from './format';
import { html } from '../../html/html';
import type { Page } from './layout';
import { costBox } from './offer';
import { type FormContext, type RadioOption, PAYMENT_TERM, form, radioGroup } from './form';

const QUESTION = 'How would you like to pay?';
const NO_PRICE =
  'The repayments cannot be shown at the moment. You see them and agree to them before you owe anything.';
const MISSING = 'Select how you would like to pay';

interface ChoiceOptions extends FormContext {
  order: Order;
  /** The repayments of Pay later; undefined if the lender quotes none. */
  quote: Offer | undefined;
  /** The calendar date that the repayments count from. */
  today: string;
  lenderName: string;
  /** What the customer has chosen before, if that could not be reported to the order. */
  chosen: PaymentTerm | undefined;
  /** True if the form was sent without a choice. */
  isMissing: boolean;
}

/** The payment method, with its price. */
export function choicePage(options: ChoiceOptions): Page {
  const { order, chosen, isMissing } = options;
  const [first] = order.allowedPaymentTerms;
  return {
    status: isMissing ? 422 : 200,
    title: QUESTION,
    step: 'Payment method',
    ...(isMissing && first && { errors: [{ field: first, message: MISSING }] }),
    content: form(
      options,
      'choice',
      html`${radioGroup(
          PAYMENT_TERM,
          html`<h1>${QUESTION}</h1>`,
          order.allowedPaymentTerms.map((term) => option(options, term)),
          { chosen, error: isMissing ? MISSING : undefined },
        )} <button>Continue</button>`,
    ),
  };
}

function option({ order, quote, today, lenderName }: ChoiceOptions, term: PaymentTerm): RadioOption {
  const label = PAYMENT_TERM_LABELS[term];
  if (term === 'PAY_NOW') {
    const price = html`<b>${formatPence(order.amountPence)}</b>`;
    return { value: term, label, lines: [price, 'From your bank account, approved at your bank.'] };
  }
  if (!quote) return { value: term, label, lines: [NO_PRICE] };
  const price = html`<b>${describePayments(quote)}</b>`;
  return {
    value: term,
    label,
    lines: [price, describeCost(quote, order.amountPence, today)],
    details: html`<div class="details">
      ${costBox(order, quote, today, `Cost of Pay later with ${lenderName}`)}
      <p class="note">Subject to approval. You see your repayments and agree to them before you owe anything.</p>
    </div>`,
  };
}
