import type { PaymentTerm } from '../../domain/order';
import type { FormErrors, FormValues } from '../application-form';
import { PAYMENT_TERM_LABELS } from '../format';
import { type Html, html } from '../html';
import type { Page } from '../layout';
import { errorSummary, form, type FormContext } from './form';

interface Field {
  name: string;
  label: string;
  hint?: string;
  type?: 'text' | 'email';
  inputMode?: 'text' | 'email' | 'decimal';
  autocomplete: string;
  isMoney?: boolean;
}

const FIELDS: Record<keyof FormValues, Field> = {
  businessName: { name: 'business_name', label: 'Business name', autocomplete: 'organization' },
  companyNumber: {
    name: 'company_number',
    label: 'Company number',
    hint: '8 characters, as registered at Companies House, for example 01234567',
    autocomplete: 'off',
  },
  email: {
    name: 'email',
    label: 'Email address',
    hint: 'The email address of a person who can apply on behalf of your business',
    type: 'email',
    inputMode: 'email',
    autocomplete: 'email',
  },
  monthlyTurnover: {
    name: 'monthly_turnover',
    label: 'Estimated monthly turnover',
    hint: 'In pounds, for example 12,500',
    inputMode: 'decimal',
    autocomplete: 'off',
    isMoney: true,
  },
};

const TITLE = 'About your business';

/** A message above the form, if the application could not be submitted. */
export interface FormAlert {
  status: number;
  text: string;
}

/** @param paymentTerm the one chosen in another window after this form was rendered */
export function paymentTermChanged(paymentTerm: PaymentTerm): FormAlert {
  const label = PAYMENT_TERM_LABELS[paymentTerm];
  return {
    status: 409,
    text: `You changed the payment method to “${label}” in another window. Your application was not submitted. Check the payment method and submit again.`,
  };
}

export interface DetailsOptions extends FormContext {
  paymentTerm: PaymentTerm;
  isOnlyTerm: boolean;
  values: FormValues;
  errors: FormErrors;
  alert?: FormAlert;
  retentionDays: number;
}

/** Step 2: the business that applies. */
export function detailsPage(options: DetailsOptions): Page {
  const { paymentTerm, isOnlyTerm, values, errors, alert, path, retentionDays } = options;
  const keys = Object.keys(FIELDS) as (keyof FormValues)[];
  const summary = keys.flatMap((key) => {
    const message = errors[key];
    return message === undefined ? [] : [{ field: FIELDS[key].name, message }];
  });
  const fields = keys.map((key) =>
    input(FIELDS[key], values[key], errors[key], summary[0]?.field === FIELDS[key].name),
  );
  return {
    status: alert?.status ?? (summary.length > 0 ? 422 : 200),
    title: summary.length > 0 || alert ? `Error: ${TITLE}` : TITLE,
    step: 2,
    content: html`<h1>${TITLE}</h1>
      <p>
        Payment method: ${PAYMENT_TERM_LABELS[paymentTerm]}
        ${!isOnlyTerm && html`<a href="${path}/?change">Change<span class="visually-hidden"> payment method</span></a>`}
      </p>
      ${alert && html`<div class="alert" role="alert"><p>${alert.text}</p></div>`} ${errorSummary(summary)}
      ${form(
        options,
        'application',
        html`<input type="hidden" name="payment_term" value="${paymentTerm}" /> ${fields}<button>
            Submit application
          </button>`,
      )}
      <p class="note">
        The lender uses these details to make its decision. We use them for this purpose only, do not share them with
        the seller, and delete them ${retentionDays === 1 ? '1 day' : `${retentionDays} days`} after your order is
        complete or can no longer be completed.
      </p>`,
  };
}

function input(field: Field, value: string, error: string | undefined, isFirstInvalid: boolean): Html {
  const { name, label, hint, type = 'text', inputMode = 'text', autocomplete, isMoney = false } = field;
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
    ${isMoney ? html`<div class="money"><span aria-hidden="true">£</span>${element}</div>` : element}
    ${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
  </div>`;
}
