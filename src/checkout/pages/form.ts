import { TOKEN_FIELD } from '../csrf';
import { type Html, html } from '../html';

export interface FormContext {
  /** The path of the order's pages. */
  path: string;
  /** The CSRF token. */
  token: string;
}

/** @param action what follows the order's path in the path that the form is sent to */
export function form({ path, token }: FormContext, action: string, content: Html): Html {
  return html`<form method="post" action="${path}/${action}/" novalidate>
    <input type="hidden" name="${TOKEN_FIELD}" value="${token}" />
    ${content}
  </form>`;
}

export interface RadioOption {
  value: string;
  label: string;
  /** Lines below the label. */
  lines: readonly (string | Html)[];
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
      ({ value, label, lines }) =>
        html`<label class="option">
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
        </label>`,
    )}
  </fieldset>`;
}
