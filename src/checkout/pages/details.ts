import type { PaymentTerm } from '../../domain/order';
import type { Entries, EntryErrors } from '../application-form';
import type { Html } from '../html';
import { html } from '../html';
import type { Page } from '../page';
import { TERM_NAMES } from '../words';
import type { FormContext } from './form';
import { errorSummary, form } from './form';

interface Field {
  name: string;
  label: string;
  hint?: string;
  type?: 'text' | 'email';
  inputMode?: 'text' | 'email' | 'decimal';
  autocomplete: string;
  isMoney?: boolean;
}

const FIELDS: Record<keyof Entries, Field> = {
  businessName: { name: 'business_name', label: 'Business name', autocomplete: 'organization' },
  companyNumber: {
    name: 'company_number',
    label: 'Company number',
    hint: 'The 8 characters that Companies House gave you, such as 01234567',
    autocomplete: 'off',
  },
  email: {
    name: 'email',
    label: 'Email address',
    hint: 'Of someone who is authorised to apply for your business',
    type: 'email',
    inputMode: 'email',
    autocomplete: 'email',
  },
  monthlyTurnover: {
    name: 'monthly_turnover',
    label: 'Estimated monthly turnover',
    hint: 'In pounds, such as 12,500',
    inputMode: 'decimal',
    autocomplete: 'off',
    isMoney: true,
  },
};

const TITLE = 'About your business';

/** @param paymentTerm that was chosen in another window, after this form was made */
export function chosenElsewhere(paymentTerm: PaymentTerm): { status: number; sentence: string } {
  const chosen = TERM_NAMES[paymentTerm].toLowerCase();
  return {
    status: 409,
    sentence: `In another window you have since chosen: ${chosen}. Nothing was sent; check the choice below and send your application again.`,
  };
}

export interface DetailsOptions extends FormContext {
  paymentTerm: PaymentTerm;
  isOnlyTerm: boolean;
  entries: Entries;
  errors: EntryErrors;
  /** Said above the form where it could not be taken. */
  alert?: { status: number; sentence: string };
  retentionDays: number;
}

/** The second step: who applies. */
export function detailsPage(options: DetailsOptions): Page {
  const { paymentTerm, isOnlyTerm, entries, errors, alert, path, retentionDays } = options;
  const keys = Object.keys(FIELDS) as (keyof Entries)[];
  const wrong = keys.flatMap((key) => {
    const message = errors[key];
    return message === undefined ? [] : [{ field: FIELDS[key].name, message }];
  });
  const fields = keys.map((key) => field(FIELDS[key], entries[key], errors[key], wrong[0]?.field === FIELDS[key].name));
  return {
    status: alert?.status ?? (wrong.length > 0 ? 422 : 200),
    title: wrong.length > 0 || alert ? `Error: ${TITLE}` : TITLE,
    step: 2,
    content: html`<h1>${TITLE}</h1>
      <p>
        You chose: ${TERM_NAMES[paymentTerm].toLowerCase()}.
        ${!isOnlyTerm && html`<a href="${path}/?change">Choose another way to pay</a>`}
      </p>
      ${alert && html`<div class="alert" role="alert"><p>${alert.sentence}</p></div>`} ${errorSummary(wrong)}
      ${form(
        options,
        'application',
        html`<input type="hidden" name="payment_term" value="${paymentTerm}" /> ${fields}<button>
            Send application
          </button>`,
      )}
      <p class="aside">
        The lender decides by what you enter here. We keep it for that alone, do not show it to the seller, and delete
        it ${retentionDays === 1 ? 'a day' : `${retentionDays} days`} after your order has closed.
      </p>`,
  };
}

function field(field: Field, value: string, error: string | undefined, isFirstWrong: boolean): Html {
  const { name, label, hint, type = 'text', inputMode = 'text', autocomplete, isMoney = false } = field;
  const described = [hint !== undefined && `${name}-hint`, error !== undefined && `${name}-error`]
    .filter(Boolean)
    .join(' ');
  const input = html`<input
    id="${name}"
    name="${name}"
    type="${type}"
    inputmode="${inputMode}"
    autocomplete="${autocomplete}"
    autocapitalize="${inputMode === 'text' ? 'words' : 'none'}"
    spellcheck="false"
    value="${value}"
    required
    ${described !== '' && html`aria-describedby="${described}"`}
    ${error !== undefined && html`aria-invalid="true"`}
    ${isFirstWrong && html`autofocus`}
  />`;
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${isMoney ? html`<div class="money"><span aria-hidden="true">£</span>${input}</div>` : input}
    ${error !== undefined && html`<p class="wrong" id="${name}-error">${error}</p>`}
  </div>`;
}
