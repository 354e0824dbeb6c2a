import type { Html } from '../html';
import { html } from '../html';
import { TOKEN_FIELD } from '../csrf';

/** What every form needs: where it goes, and the token that shows that it is ours. */
export interface FormContext {
  path: string;
  token: string;
}

export function form({ path, token }: FormContext, action: string, content: Html): Html {
  return html`<form method="post" action="${path}/${action}/" novalidate>
    <input type="hidden" name="${TOKEN_FIELD}" value="${token}" />
    ${content}
  </form>`;
}

/** What is wrong with a form, above it; the sentences lead to their fields. */
export function errorSummary(errors: readonly { field: string; message: string }[]): Html | false {
  if (errors.length === 0) return false;
  return html`<div class="alert" role="alert">
    <h2>Please check your answers</h2>
    <ul>
      ${errors.map(({ field, message }) => html`<li><a href="#${field}">${message}</a></li>`)}
    </ul>
  </div>`;
}
