import { type Offer, offerOf } from '../domain/application';
import { formatTotal } from './format';
import { html } from '../../html/html';
import { type Page, externalLink } from './layout';
import { form } from './form';
import { costBox, repaymentSchedule } from './offer';
import type { FormView } from './view';

export const NOT_AGREED = 'Tick the box to agree to the repayments';
export const DATES_CHANGED =
  'The due dates have changed because a new day has started. Check the new dates and agree again';

/** The form field with the box to agree. */
export const AGREE = 'agree';
/** The form field with the date that the shown due dates count from. */
export const AGREED_ON = 'agreed_on';

/** What the customer agrees to, in the customer's words. */
export function agreementStatement(offer: Offer, lenderName: string, businessName = 'my business'): string {
  const count = offer.instalments.length;
  const payments = count === 1 ? '1 payment' : `${count} payments`;
  return (
    `I have read the credit agreement. On behalf of ${businessName}, I agree to repay ${formatTotal(offer)} ` +
    `to ${lenderName} in ${payments}.`
  );
}

/** The customer agrees to the repayments, which completes the order. All terms come before the box. */
export function agreementPage(view: FormView, error?: string): Page {
  const { order, application, providerDetails, today, mailTo, elsewhere } = view;
  const { lenderName, creditAgreementUrl } = providerDetails;
  const offer = offerOf(application);
  // Undefined once the applicant's data is deleted.
  const applicant = application?.submitted?.applicant;
  const title = 'You are approved';
  return {
    status: error === undefined ? 200 : 422,
    title,
    step: 'Your agreement',
    ...(error !== undefined && { errors: [{ field: AGREE, message: error }] }),
    content: html`<h1>${title}</h1>
      <p>
        When you agree, ${lenderName} pays ${order.sellerName}, and your order is complete. You repay ${lenderName}.
      </p>
      ${costBox(order, offer, today, 'What you agree to', [
        ['Lender', lenderName],
        ...(applicant ? [['Borrower', `${applicant.businessName}, company ${applicant.companyNumber}`] as const] : []),
      ])}
      <h2>When you repay</h2>
      ${repaymentSchedule(offer, today)}
      <h2>Before you agree</h2>
      <p>
        Read the ${externalLink(creditAgreementUrl, 'credit agreement')}. It explains how to make the payments, what
        happens if one is late, and how to repay early. You must be allowed to borrow on behalf of your business.
      </p>
      ${form(
        view,
        'confirmation',
        html`<input type="hidden" name="${AGREED_ON}" value="${today}" />
          ${error !== undefined && html`<p class="error" id="not-agreed">${error}</p>`}
          <label class="agree">
            <input
              type="checkbox"
              id="${AGREE}"
              name="${AGREE}"
              value="yes"
              required
              ${error !== undefined && html`aria-invalid="true" aria-describedby="not-agreed" autofocus`}
            />
            <span> ${agreementStatement(offer, lenderName, applicant?.businessName)} </span>
          </label>
          <button>Agree and complete order</button>`,
      )}
      <p class="note">
        You can read your repayments at this link afterwards.
        ${mailTo !== undefined && `We also email them to ${mailTo}.`}
      </p>
      ${elsewhere}`,
  };
}
