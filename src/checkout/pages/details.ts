import type { Offer } from '../domain/application';
import type { Order } from '../../domain/order';
import { LENDER_TEST_CUSTOMERS, describeOutcome } from '../sandbox/test-customers';
import type { FormErrors, FormValues } from '../domain/application-form';
import { describePayments } from './format';
import { type Html, html } from '../../html/html';
import { type Page, externalLink } from './layout';
import type { ProviderDetails } from './provider-details';
import { costBox } from './offer';
import { type FormContext, form, switchButton } from './form';

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

export interface DetailsOptions extends FormContext {
  order: Order;
  providerDetails: ProviderDetails;
  /** The repayments that an approved customer is offered; undefined if the lender quotes none. */
  quote: Offer | undefined;
  /** The calendar date that the repayments count from. */
  today: string;
  values: FormValues;
  errors: FormErrors;
  /** Why the application could not be submitted or processed. */
  alert?: FormAlert;
  /** The id of the application that the lender could not process; undefined for the first one. */
  replaces: string | undefined;
  /** How the customer ends the order; undefined if leaving the page is enough. */
  withdraw: Html | undefined;
  retentionDays: number;
  /** How the customer opens the page on another device. */
  elsewhere: Html | undefined;
}

/** An error of the whole form. */
export interface FormAlert {
  status: number;
  text: string;
}

/** The form field with the id of the application that the new one replaces; empty for the first one. */
export const REPLACES = 'replaces';

/** The business that applies to pay later. */
export function detailsPage(options: DetailsOptions): Page {
  const { order, quote, today, values, errors, alert, replaces, withdraw, retentionDays, elsewhere } = options;
  const { lenderName, privacyUrl } = options.providerDetails;
  const names = Object.keys(FIELDS) as (keyof FormValues)[];
  const fieldErrors = names.flatMap((field) => {
    const message = errors[field];
    return message === undefined ? [] : [{ field, message }];
  });
  const fields = names.map((name) => input(name, values[name], errors[name], fieldErrors[0]?.field === name));
  return {
    status: alert?.status ?? (fieldErrors.length > 0 ? 422 : 200),
    title: TITLE,
    step: 'Your application',
    errors: [...(alert ? [{ message: alert.text }] : []), ...fieldErrors],
    content: html`<h1>${TITLE}</h1>
      <p>Payment method: Pay later${quote && `, ${describePayments(quote)}`}.</p>
      ${order.sandbox && testCustomers()}
      ${form(
        options,
        'application',
        html`<input type="hidden" name="${REPLACES}" value="${replaces}" /> ${fields}
          <p class="note">
            ${lenderName} uses these details to make its decision. They are used for nothing else, are not shown to
            ${order.sellerName}, and are deleted ${retentionDays === 1 ? '1 day' : `${retentionDays} days`} after your
            order ends. ${externalLink(privacyUrl, 'How your data is used')}
          </p>
          <button>Submit application</button>
          ${order.allowedPaymentTerms.includes('PAY_NOW') && switchButton(options, 'PAY_NOW')}`,
      )}
      ${quote && costBox(order, quote, today, `Cost of Pay later with ${lenderName}`)} ${elsewhere} ${withdraw}`,
  };
}

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
