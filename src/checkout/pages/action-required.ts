import { html } from '../../html/html';
import type { Page } from './layout';
import type { View } from './view';
import { autoUpdate } from './waiting';

/** The customer has to act on a page of the lender before it decides. */
export function actionRequiredPage(view: View): Page {
  const { application, providerDetails, path, now, elsewhere } = view;
  const { lenderName } = providerDetails;
  const title = `Continue at ${lenderName}`;
  const { refresh, note } = autoUpdate(view, `${path}/`, now.getTime() - (application?.submitted?.at.getTime() ?? 0));
  return {
    title,
    step: 'Your application',
    ...refresh,
    content: html`<h1>${title}</h1>
      <p>
        ${lenderName} needs one more step from you before it decides, for example to confirm your identity. You come
        back here afterwards.
      </p>
      <a class="button" href="${path}/lender/">Continue to ${lenderName}</a>
      ${note} ${elsewhere}`,
  };
}

/** The page of the sandbox lender where a test customer acts. */
export function sandboxLenderPage(path: string): Page {
  const title = 'Confirm your identity';
  return {
    title: `${title} – Sandbox Lender`,
    content: html`<p class="bank">Sandbox Lender</p>
      <h1>${title}</h1>
      <p>A real lender would check your identity or ask for a signature on a page of its own.</p>
      <a class="button" href="${path}/return/">Confirm and go back</a>`,
  };
}
