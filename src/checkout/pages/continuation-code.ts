import { type Html, html } from '../html';

/** The applicant's way to continue in another browser. Not printed: a print-out may be passed on. */
export function continuationCode(code: string, sellerName: string): Html {
  return html`<p class="note no-print">
    Only this browser can open your application. To open it on another device, use the same link there and enter the
    code <strong class="code">${code}</strong>. Write the code down now, in case you lose access to this browser. You
    can use it once. Do not give it to anyone, including ${sellerName}.
  </p>`;
}
