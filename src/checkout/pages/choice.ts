import type { Order, PaymentTerm } from '../../domain/order';
import type { Html } from '../html';
import { html } from '../html';
import type { Page } from '../page';
import { TERM_NAMES, interestSentences } from '../words';
import type { FormContext } from './form';
import { errorSummary, form } from './form';

const QUESTION = 'How would you like to pay?';
const MISSING = 'Choose how you would like to pay';

export interface ChoiceOptions extends FormContext {
  order: Order;
  chosen: PaymentTerm | undefined;
  /** Whether the form came back without a choice. */
  isMissing: boolean;
}

/** The first step: how to pay, and what that costs. */
export function choicePage(options: ChoiceOptions): Page {
  const { order, isMissing } = options;
  const [only, ...others] = order.allowedPaymentTerms;
  const isSingle = others.length === 0 && only !== undefined;
  const title = isSingle ? TERM_NAMES[only] : QUESTION;
  const choices = isSingle ? single(order, only) : several(options);
  return {
    status: isMissing ? 422 : 200,
    title: isMissing ? `Error: ${title}` : title,
    step: 1,
    content: html`${isMissing && errorSummary([{ field: 'PAY_LATER', message: MISSING }])}
    ${form(options, 'choice', html`${choices}<button>Continue</button>`)}`,
  };
}

function single(order: Order, term: PaymentTerm): Html {
  return html`<h1>${TERM_NAMES[term]}</h1>
    ${describe(order, term).map((sentence) => html`<p>${sentence}</p>`)}
    <input type="hidden" name="payment_term" value="${term}" />`;
}

function several({ order, chosen, isMissing }: ChoiceOptions): Html {
  return html`<fieldset>
    <legend><h1>${QUESTION}</h1></legend>
    ${isMissing && html`<p class="wrong" id="missing">${MISSING}</p>`}
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
            <strong>${TERM_NAMES[term]}</strong>
            ${describe(order, term).map((sentence) => html`<span>${sentence}</span>`)}
          </span>
        </label>`,
    )}
  </fieldset>`;
}

function describe({ pricing }: Order, term: PaymentTerm): string[] {
  if (term === 'PAY_NOW') return ['The whole amount at once, without interest.'];
  return ['In monthly instalments. You see each of them before you agree.', ...interestSentences(pricing, new Date())];
}
