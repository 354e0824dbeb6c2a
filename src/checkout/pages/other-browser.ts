import { formatPence } from '../../domain/money';
import { isCurrent } from '../domain/payment';
import type { Checkout } from '../domain/checkout';
import type { ApplicantState } from '../domain/checkout-state';
import { type Html, html } from '../../html/html';
import { type Page, wayBack } from './layout';
import { repaymentsAgreedAt } from './complete';
import { type FormContext, form } from './form';

/** The form field with the code. */
export const CODE = 'code';
export const CODE_INCOMPLETE = 'Enter the code as it was shown to you. It has 8 characters, for example 4F7K-9QXM';
export const CODE_WRONG = 'This code is not correct. Check that it is the last code that you were shown for this order';
export const TOO_MANY_CODES = 'Too many codes were entered for this order. Try again in an hour';

interface Texts {
  title: string;
  text: string;
  /**
   * `code`: the applicant's page shows personal data, and an earlier one has shown the code. `wait`: the bank or the
   * service has to do the next step. `shop`: there is nothing left to do.
   */
  next: 'code' | 'wait' | 'shop';
}

/**
 * The same after a decline and after a failure: as long as the order is open, the seller does not learn which it was.
 */
const NOT_COMPLETE: Texts = {
  title: 'This order is not complete yet',
  text: 'An application for this order was submitted. Only the person who applied can continue.',
  next: 'code',
};
const TEXTS: Record<ApplicantState, Texts> = {
  waiting: { title: 'The lender is deciding', text: 'An application for this order was submitted.', next: 'code' },
  referred: {
    title: 'The lender is reviewing the application',
    text: 'An application for this order was submitted. The lender needs more time to decide.',
    next: 'code',
  },
  'action-required': {
    title: 'The lender needs one more step',
    text: 'An application for this order was submitted. The person who applied has to continue at the lender.',
    next: 'code',
  },
  retry: NOT_COMPLETE,
  'pay-now-offered': NOT_COMPLETE,
  bank: NOT_COMPLETE,
  paying: {
    title: 'A payment for this order is in progress',
    text:
      'It was started in another browser, and is completed there or at the bank. ' +
      'If nobody approves it, it is cancelled after about 15 minutes.',
    next: 'wait',
  },
  confirming: {
    title: 'A payment for this order is being confirmed',
    text: 'The bank is confirming a payment for this order. You do not need to do anything. Do not pay again.',
    next: 'wait',
  },
  agreement: {
    title: 'The application for this order is approved',
    text: 'The order is not complete yet. Only the person who applied can review the repayments and complete the order.',
    next: 'code',
  },
  completing: {
    title: 'This order is being completed',
    text: 'You do not need to do anything. Do not pay again.',
    next: 'wait',
  },
  complete: { title: 'This order is complete', text: 'You do not need to do anything else.', next: 'shop' },
  declined: {
    title: 'The application for this order was not approved',
    text: 'The person who applied can see the reason. No payment was taken, and nothing is owed for this order.',
    next: 'shop',
  },
};

interface OtherBrowserOptions extends FormContext {
  state: ApplicantState;
  checkout: Checkout;
  error: string | undefined;
}

/**
 * What everyone with the pay link may know about another browser's application or payment, and how the applicant
 * continues. Customers who return from their bank in another browser see it too.
 */
export function otherBrowserPage(options: OtherBrowserOptions): Page {
  const { state, checkout, path } = options;
  const { order, branding, application, payment } = checkout;
  const { title, text, next } = TEXTS[state];
  const isPayingNow = payment !== undefined && isCurrent(payment.status);
  const hasRepayments = state === 'complete' && repaymentsAgreedAt(checkout) !== null;
  const error = next === 'code' || hasRepayments ? options.error : undefined;
  const isCustomerDone = state === 'confirming' || state === 'completing';
  const back = state === 'complete' ? order.redirectUrl : wayBack(order, branding);
  return {
    status: error === undefined ? 200 : error === TOO_MANY_CODES ? 429 : 422,
    title,
    ...(isPayingNow && { paymentTerm: 'PAY_NOW' }),
    isCustomerDone,
    ...(error !== undefined && { errors: [{ field: CODE, message: error }] }),
    content: html`<h1>${title}</h1>
      <p>
        ${
          state === 'complete' &&
          isPayingNow &&
          `The payment of ${formatPence(order.amountPence)} to ${order.sellerName} was made.`
        }
        ${text} ${state === 'paying' && !application?.submitted && 'You can then pay here.'}
      </p>
      ${next === 'wait' && html`<a class="button" href="${path}/">Check again</a>`}
      ${next === 'code' && codeForm(options, 'If this is your order')}
      ${
        !isCustomerDone &&
        html`<a class="button ${next !== 'shop' && 'secondary'}" href="${back}">Return to ${order.sellerName}</a>`
      }
      ${hasRepayments && codeForm(options, 'If these are your repayments')}`,
  };
}

function codeForm(options: OtherBrowserOptions, heading: string): Html {
  const { error, checkout } = options;
  return html`<h2>${heading}</h2>
    <p>
      Open this link in the browser that you used before, on the same device. To continue here instead, enter the code
      that you were shown there. If you have neither that browser nor the code, contact ${checkout.order.sellerName}.
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

/** The applicant's way to continue in another browser. Not printed: a print-out may be passed on. */
export function continuationCode(code: string, sellerName: string): Html {
  return html`<section class="message no-print">
    <h2>Your code: <span class="code">${code}</span></h2>
    <p>
      Keep this code to open this page on another device, or if you lose access to this browser. It works once. Do not
      give it to anyone, including ${sellerName}.
    </p>
  </section>`;
}
