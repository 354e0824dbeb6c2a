import type { Checkout } from '../hosted-checkout';
import type { ApplicantState } from '../checkout-state';
import { type Html, html } from '../html';
import { type Page, wayBack } from '../layout';
import { type FormContext, form } from './form';

/** The form field with the code. */
export const CODE = 'code';
export const CODE_INCOMPLETE = 'Enter the code as it was shown to you. It has 8 characters, for example 4F7K-9QXM';
export const CODE_WRONG = 'This code is not correct. Check that it is the last code that you were shown for this order';
export const TOO_MANY_CODES = 'Too many codes were entered for this order. Try again in an hour';

/**
 * The same after a decline and after a failure: as long as the order is open, the seller does not learn which it was.
 */
const NOT_COMPLETE = {
  title: 'This order is not complete yet',
  text: 'An application for this order was submitted. Only the person who applied can continue.',
};
const TEXTS: Record<ApplicantState, { title: string; text: string }> = {
  waiting: { title: 'The lender is deciding', text: 'An application for this order was submitted.' },
  referred: {
    title: 'The lender is reviewing the application',
    text: 'An application for this order was submitted. The lender needs more time to decide.',
  },
  retry: NOT_COMPLETE,
  'pay-now-offered': NOT_COMPLETE,
  bank: NOT_COMPLETE,
  paying: {
    title: 'A payment for this order is in progress',
    text:
      'It was started in another browser, and is completed there or at the bank. ' +
      'If nobody approves it, it is cancelled after about 15 minutes.',
  },
  confirming: {
    title: 'A payment for this order is being confirmed',
    text: 'The bank is confirming a payment for this order. You do not need to do anything. Do not pay again.',
  },
  agreement: {
    title: 'The application for this order is approved',
    text: 'The order is not complete yet. Only the person who applied can review the repayments and complete the order.',
  },
  completing: { title: 'This order is being completed', text: 'You do not need to do anything. Do not pay again.' },
  complete: { title: 'This order is complete', text: 'The person who completed it can see the details.' },
  declined: {
    title: 'The application for this order was not approved',
    text: 'The person who applied can see the reason. No payment was taken, and nothing is owed for this order.',
  },
};

interface OtherBrowserOptions extends FormContext {
  state: ApplicantState;
  checkout: Checkout;
  error: string | undefined;
}

/** What everyone with the pay link may know about another browser's application, and how its applicant continues. */
export function otherBrowserPage(options: OtherBrowserOptions): Page {
  const { state, checkout, error } = options;
  const { order, branding, application } = checkout;
  const { title, text } = TEXTS[state];
  const back = state === 'complete' ? order.redirectUrl : wayBack(order, branding);
  // No code is shown while the customer is at the bank.
  const isAtBank = state === 'paying' || state === 'confirming';
  const isCustomerDone = state === 'confirming' || state === 'completing';
  return {
    status: error === undefined ? 200 : error === TOO_MANY_CODES ? 429 : 422,
    title,
    isCustomerDone,
    ...(error !== undefined && { errors: [{ field: CODE, message: error }] }),
    content: html`<h1>${title}</h1>
      <p>${text} ${state === 'paying' && !application?.submitted && 'You can then pay here.'}</p>
      ${isAtBank ? html`<a class="button" href="${options.path}/">Check again</a>` : codeForm(options)}
      ${
        state !== 'confirming' &&
        html`<p class="note">
          ${!isAtBank && `If you have neither that browser nor the code, contact ${order.sellerName}.`}
          ${!isCustomerDone && html`<a href="${back}">Return to ${order.sellerName}</a>`}
        </p>`
      }`,
  };
}

function codeForm(options: OtherBrowserOptions): Html {
  const { error } = options;
  return html`<h2>If this is your order</h2>
    <p>
      Open this link in the browser that you used before, on the same device. To continue here instead, enter the code
      that you were shown there.
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
    )}`;
}
