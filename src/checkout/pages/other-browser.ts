import type { Checkout } from '../../orders/hosted-checkout';
import type { ApplicantState } from '../checkout-state';
import { html } from '../html';
import { type Page, wayBack } from '../layout';
import { errorSummary, form, type FormContext } from './form';

/** The form field with the code. */
export const CODE = 'code';
export const CODE_INCOMPLETE = 'Enter the code as it was shown to you. It has 8 characters, for example 4F7K-9QXM';
export const CODE_WRONG = 'This code is not correct. Check that it is the last code that you were shown for this order';
export const TOO_MANY_CODES = 'Too many codes were entered for this order. Try again in 10 minutes';

const TEXTS: Record<ApplicantState, { title: string; text: string }> = {
  waiting: { title: 'The lender is deciding', text: 'An application for this order was submitted.' },
  referred: {
    title: 'The lender is reviewing the application',
    text: 'An application for this order was submitted. The lender needs more time to decide.',
  },
  confirmation: {
    title: 'The application for this order is approved',
    text: 'The order is not complete yet. Only the person who applied can review the payment and complete the order.',
  },
  completing: { title: 'This order is being completed', text: 'The person who applied confirmed the order.' },
  complete: { title: 'This order is complete', text: 'The person who applied can see the details of the payment.' },
  declined: {
    title: 'The application for this order was not approved',
    text: 'The person who applied can see the reason. No payment was made, and nothing is owed for this order.',
  },
};

export interface OtherBrowserOptions extends FormContext {
  state: ApplicantState;
  checkout: Checkout;
  error: string | undefined;
}

/** What everyone with the pay link may know about another browser's application, and how its applicant continues. */
export function otherBrowserPage(options: OtherBrowserOptions): Page {
  const { state, checkout, error } = options;
  const { order, branding } = checkout;
  const { title, text } = TEXTS[state];
  const back = state === 'complete' ? order.redirectUrl : wayBack(order, branding);
  return {
    status: error === undefined ? 200 : error === TOO_MANY_CODES ? 429 : 422,
    title: error === undefined ? title : `Error: ${title}`,
    content: html`<h1>${title}</h1>
      ${error !== undefined && errorSummary([{ field: CODE, message: error }])}
      <p>${text}</p>
      <h2>If you applied</h2>
      <p>
        Open this link in the browser that you applied with, on the same device. To continue here instead, enter the
        code that you were shown after you applied.
      </p>
      ${form(
        options,
        'continue',
        html`<div class="field">
            <label for="${CODE}">Code</label>
            <p class="hint" id="code-hint">8 characters, for example 4F7K-9QXM</p>
            ${error !== undefined && html`<p class="error" id="code-error">${error}</p>`}
            <input
              id="${CODE}"
              name="${CODE}"
              type="text"
              autocomplete="off"
              autocapitalize="characters"
              spellcheck="false"
              required
              aria-describedby="code-hint${error !== undefined && ' code-error'}"
              ${error !== undefined && html`aria-invalid="true" autofocus`}
            />
          </div>
          <button>Continue</button>`,
      )}
      <p class="note">
        If you have neither that browser nor the code, contact ${order.sellerName}.
        <a href="${back}">Go back to ${order.sellerName}</a>.
      </p>`,
  };
}
