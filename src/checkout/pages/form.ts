import { TOKEN_FIELD } from '../csrf';
import { type Html, html } from '../html';

export interface FormContext {
  /** The path of the order's pages. */
  path: string;
  /** The CSRF token. */
  token: string;
}

/** @param action the last segment of the path that the form is sent to */
export function form({ path, token }: FormContext, action: string, content: Html): Html {
  return html`<form method="post" action="${path}/${action}/" novalidate>
    <input type="hidden" name="${TOKEN_FIELD}" value="${token}" />
    ${content}
  </form>`;
}

/** The list of errors above a form; each one links to its field. */
export function errorSummary(errors: readonly { field: string; message: string }[]): Html | false {
  if (errors.length === 0) return false;
  return html`<div class="alert" role="alert">
    <h2>There is a problem</h2>
    <ul>
      ${errors.map(({ field, message }) => html`<li><a href="#${field}">${message}</a></li>`)}
    </ul>
  </div>`;
}
