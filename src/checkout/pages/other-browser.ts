import { formatPence } from '../../domain/money';
import { isCurrent } from '../domain/payment';
import type { ApplicantState } from '../domain/checkout-state';
import { type Html, html } from '../../html/html';
import { type Page, wayBack } from './layout';
import { repaymentsAgreedAt } from './complete';
import { form } from './form';
import type { FormView } from './view';

export const TOO_MANY_LINKS = 'Too many links were requested for this order. Use the last one, or try again in an hour';
export const LINK_USED = 'This link has been used already, or is too old. Request another one';

/**
 * `link`: the applicant's page shows personal data, and a link by email opens it. `wait`: the bank or the service has to do
 * the next step. `shop`: there is nothing left to do.
 */
type Texts = [next: 'link' | 'wait' | 'shop', title: string, text: string];

/**
 * The same after a decline and after a failure: as long as the order is open, the seller does not learn which it was.
 */
const NOT_COMPLETE: Texts = [
  'link',
  'This order is not complete yet',
  'An application for this order was submitted. Only the person who applied can continue.',
];
const TEXTS: Record<ApplicantState, Texts> = {
  waiting: ['link', 'The lender is deciding', 'An application for this order was submitted.'],
  referred: [
    'link',
    'The lender is reviewing the application',
    'An application for this order was submitted. The lender needs more time to decide.',
  ],
  'action-required': [
    'link',
    'The lender needs one more step',
    'An application for this order was submitted. The person who applied has to continue at the lender.',
  ],
  retry: NOT_COMPLETE,
  'pay-now-offered': NOT_COMPLETE,
  bank: NOT_COMPLETE,
  paying: [
    'wait',
    'A payment for this order is in progress',
    'It was started in another browser, and is completed there or at the bank. ' +
      'If nobody approves it, it is cancelled after about 15 minutes.',
  ],
  confirming: [
    'wait',
    'A payment for this order is being confirmed',
    'The bank is confirming a payment for this order. You do not need to do anything. Do not pay again.',
  ],
  agreement: [
    'link',
    'The application for this order is approved',
    'The order is not complete yet. Only the person who applied can review the repayments and complete the order.',
  ],
  completing: ['wait', 'This order is being completed', 'You do not need to do anything. Do not pay again.'],
  complete: ['shop', 'This order is complete', 'You do not need to do anything else.'],
  declined: [
    'shop',
    'The application for this order was not approved',
    'The person who applied can see the reason. No payment was taken, and nothing is owed for this order.',
  ],
};

/**
 * What everyone with the pay link may know about another browser's application or payment, and how the applicant
 * continues. Customers who return from their bank in another browser see it too.
 * @param isSent true if the requested link was just sent
 */
export function otherBrowserPage(
  state: ApplicantState,
  view: FormView,
  { isSent, error: given }: { isSent: boolean; error?: string | undefined },
): Page {
  const { order, branding, application, payment, path } = view;
  const [next, title, text] = TEXTS[state];
  const isPayingNow = payment !== undefined && isCurrent(payment.status);
  const hasRepayments = state === 'complete' && repaymentsAgreedAt(view) !== null;
  const error = next === 'link' || hasRepayments ? given : undefined;
  const isCustomerDone = state === 'confirming' || state === 'completing';
  const back = state === 'complete' ? order.redirectUrl : wayBack(order, branding);
  return {
    status: error === undefined ? 200 : error === TOO_MANY_LINKS ? 429 : 410,
    title,
    ...(isPayingNow && { paymentTerm: 'PAY_NOW' }),
    isCustomerDone,
    ...(error !== undefined && { errors: [{ message: error }] }),
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
      ${next === 'link' && howToContinue(view, isSent, 'If this is your order')}
      ${
        !isCustomerDone &&
        html`<a class="button ${next !== 'shop' && 'secondary'}" href="${back}">Return to ${order.sellerName}</a>`
      }
      ${hasRepayments && howToContinue(view, isSent, 'If these are your repayments')}`,
  };
}

function howToContinue(view: FormView, isSent: boolean, heading: string): Html {
  const canMail = view.mailTo !== undefined;
  return html`<h2>${heading}</h2>
    <p>
      Open this link in the browser that you used before, on the same device.
      ${
        canMail
          ? 'To continue here instead, let us email a link to the address in the application.'
          : `Only that browser can continue. If you no longer have it, contact ${view.order.sellerName}.`
      }
    </p>
    ${
      isSent &&
      html`<p class="message" role="status">
        We are sending a link to the address in the application. Open it on this device within 30 minutes. It works
        once.
      </p>`
    }
    ${canMail && form(view, 'continue', html`<button>Email me a link</button>`)}`;
}

/** What a link by email opens. A mail scanner opens it too, so that only the button moves the application. */
export function continueHerePage(view: FormView, link: string): Page {
  const title = 'Continue on this device';
  return {
    title,
    content: html`<h1>${title}</h1>
      <p>
        Your order at ${view.order.sellerName} continues in this browser. The browser that you used before can then no
        longer open it.
      </p>
      ${form(view, `continue/${link}`, html`<button>Continue on this device</button>`)}`,
  };
}

/**
 * The applicant's way to another device. Not printed: a print-out may be passed on.
 * @param mailTo whom we write to; undefined if we do not write
 */
export function continueElsewhere(mailTo: string | undefined): Html {
  return html`<p class="note no-print">
    ${
      mailTo === undefined
        ? 'Only this browser can open this page again.'
        : `To open this page on another device, open its link there. We then email a link to ${mailTo} that lets you continue.`
    }
  </p>`;
}
