import type { Order, PaymentTerm } from '../../domain/order';
import { PAYMENT_TERM_LABELS, describeInterest } from '../format';
import { type Html, html } from '../html';
import type { Page } from '../layout';
import { errorSummary, form, type FormContext } from './form';

const QUESTION = 'How would you like to pay?';
const MISSING = 'Select how you would like to pay';

export interface ChoiceOptions extends FormContext {
  order: Order;
  chosen: PaymentTerm | undefined;
  /** True if the form was sent without a choice. */
  isMissing: boolean;
}

/** Step 1: the payment method and its cost. */
export function choicePage(options: ChoiceOptions): Page {
  const { order, isMissing } = options;
  const [only, ...others] = order.allowedPaymentTerms;
  const isSingle = others.length === 0 && only !== undefined;
  const title = isSingle ? PAYMENT_TERM_LABELS[only] : QUESTION;
  const fields = isSingle ? singleTerm(order, only) : radioButtons(options);
  return {
    status: isMissing ? 422 : 200,
    title: isMissing ? `Error: ${title}` : title,
    step: 1,
    content: html`${isMissing && errorSummary([{ field: 'PAY_LATER', message: MISSING }])}
    ${form(options, 'choice', html`${fields}<button>Continue</button>`)}`,
  };
}

function singleTerm(order: Order, term: PaymentTerm): Html {
  return html`<h1>${PAYMENT_TERM_LABELS[term]}</h1>
    ${describe(order, term).map((sentence) => html`<p>${sentence}</p>`)}
    <input type="hidden" name="payment_term" value="${term}" />`;
}

function radioButtons({ order, chosen, isMissing }: ChoiceOptions): Html {
  return html`<fieldset>
    <legend><h1>${QUESTION}</h1></legend>
    ${isMissing && html`<p class="error" id="missing">${MISSING}</p>`}
    ${order.allowedPaymentTerms.map(
      (term) =>
        html`<label class="option">
          <input
            type="radio"
            name="payment_term"
            id="${term}"
            value="${term}"
            required
            ${chosen === term && html`checked`}
            ${isMissing && html`aria-describedby="missing"`}
          />
          <span>
            <strong>${PAYMENT_TERM_LABELS[term]}</strong>
            ${describe(order, term).map((sentence) => html`<span>${sentence}</span>`)}
          </span>
        </label>`,
    )}
  </fieldset>`;
}

function describe({ pricing }: Order, term: PaymentTerm): string[] {
  if (term === 'PAY_NOW') return ['Pay the full amount now, with no interest.'];
  return [
    'Pay in monthly instalments. You can review them before you agree.',
    ...describeInterest(pricing, new Date()),
  ];
}
