import { TOKEN_FIELD } from '../../html/forms';
import type { PaymentTerm } from '../../domain/order';
import type { LenderDecision } from '../domain/application';
import type { FormValues } from '../domain/application-form';
import { PAYMENT_TERM_LABELS } from './format';
import { type Html, html } from '../../html/html';

export interface FormContext {
  /** The path of the pages. */
  path: string;
  /** The CSRF token. */
  token: string;
}

/** @param action what follows the path of the pages in the path that the form is sent to */
export function form({ path, token }: FormContext, action: string, content: Html): Html {
  return html`<form method="post" action="${path}/${action}/" novalidate>
    <input type="hidden" name="${TOKEN_FIELD}" value="${token}" />
    ${content}
  </form>`;
}

/** The form field with the chosen payment term. */
export const PAYMENT_TERM = 'payment_term';

/** A button that sends a form to choose the other payment term, with what the customer has typed. */
export function switchButton({ path }: FormContext, term: PaymentTerm): Html {
  return html`<button class="secondary" formaction="${path}/choice/" name="${PAYMENT_TERM}" value="${term}">
    ${PAYMENT_TERM_LABELS[term]} instead
  </button>`;
}

/**
 * Ends an order that the customer could still complete.
 * @param decision the seller gets its reason
 */
export function withdrawForm(context: FormContext, sellerName: string, decision: LenderDecision['kind']): Html {
  const reason = decision === 'failed' ? 'could not be processed' : 'was not approved';
  return html`<hr />
    <h2>Do not want to continue?</h2>
    <p>End this order. We then tell ${sellerName} that the application ${reason}.</p>
    ${form(context, 'withdraw', html`<button class="secondary">End this order</button>`)}`;
}

/** Hidden fields that keep what the customer has typed in the application. */
export function typedValues(values: FormValues): Html {
  return html`${Object.entries(values).map(([name, value]) => value !== '' && html`<input type="hidden" name="${name}" value="${value}" />`)}`;
}

export interface RadioOption {
  value: string;
  label: string;
  /** Lines below the label. */
  lines: readonly (string | Html)[];
  /** Shown below while the option is chosen, or always by browsers that cannot select by that. */
  details?: Html;
}

/**
 * A group of radio buttons. Each one has its value as its id.
 * @param error shown above the options
 */
export function radioGroup(
  name: string,
  legend: Html,
  options: readonly RadioOption[],
  { chosen, error }: { chosen?: string | undefined; error?: string | undefined },
): Html {
  return html`<fieldset>
    <legend>${legend}</legend>
    ${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
    ${options.map(
      ({ value, label, lines, details }) =>
        html`<div class="option">
          <label>
            <input
              type="radio"
              name="${name}"
              id="${value}"
              value="${value}"
              required
              ${chosen === value && html`checked`}
              ${error !== undefined && html`aria-describedby="${name}-error"`}
            />
            <span>
              <strong>${label}</strong>
              ${lines.map((line) => html`<span>${line}</span>`)}
            </span>
          </label>
          ${details}
        </div>`,
    )}
  </fieldset>`;
}
