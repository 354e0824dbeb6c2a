import { LENDER_TEST_CUSTOMERS, describeOutcome } from '../sandbox/test-customers';
import { type FormErrors, type FormValues, EMPTY_FORM, toTypedValues } from '../domain/application-form';
import { checkoutState } from '../domain/checkout-state';
import { describePayments } from './format';
import { type Html, html } from '../../html/html';
import { type Page, externalLink } from './layout';
import { costBox } from './offer';
import { form, switchButton, withdrawForm } from './form';
import type { FormView } from './view';

interface Field {
  label: string;
  hint?: string;
  type?: 'text' | 'email';
  inputMode?: 'text' | 'email' | 'decimal';
  autocomplete: string;
}

const FIELDS: Record<keyof FormValues, Field> = {
  business_name: { label: 'Business name', autocomplete: 'organization' },
  company_number: {
    label: 'Company number',
    hint: '8 characters, as registered at Companies House, for example 01234567',
    autocomplete: 'off',
  },
  email: {
    label: 'Email address',
    hint: 'The email address of a person who can apply on behalf of your business',
    ...{ type: 'email', inputMode: 'email', autocomplete: 'email' },
  },
  monthly_turnover: {
    label: 'Estimated monthly turnover',
    hint: 'In pounds, for example 12,500',
    ...{ inputMode: 'decimal', autocomplete: 'off' },
  },
};

const TITLE = 'About your business';

/** A form that was sent. */
interface SentForm {
  values: FormValues;
  errors: FormErrors;
  /** Why the application could not be submitted. */
  unavailable: string;
}

/** The form field with the id of the application that the new one replaces; empty for the first one. */
export const REPLACES = 'replaces';

/** The business that applies to pay later. */
export function detailsPage(view: FormView, sent: Partial<SentForm> = {}): Page {
  const { order, providerDetails, today, retentionDays, elsewhere } = view;
  const { lenderName, privacyUrl } = providerDetails;
  const quote = providerDetails.quote(order, today);
  // The application that the lender could not process.
  const failed = checkoutState(view) === 'retry' ? view.application : undefined;
  const stored = failed?.submitted ? toTypedValues(failed.submitted.applicant) : EMPTY_FORM;
  const { values = stored, errors = {}, unavailable } = sent;
  const alert = unavailable ?? (failed && !sent.errors ? notProcessed(lenderName) : undefined);
  const names = Object.keys(FIELDS) as (keyof FormValues)[];
  const fieldErrors = names.flatMap((field) => {
    const message = errors[field];
    return message === undefined ? [] : [{ field, message }];
  });
  const fields = names.map((name) => input(name, values[name], errors[name], fieldErrors[0]?.field === name));
  return {
    status: unavailable !== undefined ? 503 : fieldErrors.length > 0 ? 422 : 200,
    title: TITLE,
    step: 'Your application',
    errors: [...(alert === undefined ? [] : [{ message: alert }]), ...fieldErrors],
    content: html`<h1>${TITLE}</h1>
      <p>Payment method: Pay later${quote && `, ${describePayments(quote)}`}.</p>
      ${order.sandbox && testCustomers()}
      ${form(
        view,
        'application',
        html`<input type="hidden" name="${REPLACES}" value="${failed?.id}" /> ${fields}
          <p class="note">
            ${lenderName} uses these details to make its decision. They are used for nothing else, are not shown to
            ${order.sellerName}, and are deleted ${retentionDays === 1 ? '1 day' : `${retentionDays} days`} after your
            order ends. ${externalLink(privacyUrl, 'How your data is used')}
          </p>
          <button>Submit application</button>
          ${order.allowedPaymentTerms.includes('PAY_NOW') && switchButton(view, 'PAY_NOW')}`,
      )}
      ${quote && costBox(order, quote, today, `Cost of Pay later with ${lenderName}`)} ${elsewhere}
      ${failed && withdrawForm(view, order.sellerName, 'failed')}`,
  };
}

const notProcessed = (lenderName: string): string =>
  `${lenderName} could not process your application. This is not a decision about you or your business. ` +
  'Check your details and try again.';

/** Help for whoever tests a sandbox order. */
function testCustomers(): Html {
  return html`<details class="message">
    <summary>Test customers</summary>
    <p>This is a test order. The email address selects the lender’s answer:</p>
    <dl>
      ${LENDER_TEST_CUSTOMERS.map(
        (customer) =>
          html`<dt>${customer.name}@example.com</dt>
            <dd>${describeOutcome(customer)}</dd>`,
      )}
    </dl>
  </details>`;
}

function input(name: keyof FormValues, value: string, error: string | undefined, isFirstInvalid: boolean): Html {
  const { label, hint, type = 'text', inputMode = 'text', autocomplete } = FIELDS[name];
  const descriptions = [hint !== undefined && `${name}-hint`, error !== undefined && `${name}-error`]
    .filter(Boolean)
    .join(' ');
  const element = html`<input
    id="${name}"
    name="${name}"
    type="${type}"
    inputmode="${inputMode}"
    autocomplete="${autocomplete}"
    autocapitalize="${inputMode === 'text' ? 'words' : 'none'}"
    spellcheck="false"
    value="${value}"
    required
    ${descriptions !== '' && html`aria-describedby="${descriptions}"`}
    ${error !== undefined && html`aria-invalid="true"`}
    ${isFirstInvalid && html`autofocus`}
  />`;
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`} ${element}
  </div>`;
}
