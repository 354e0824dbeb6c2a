import { type Html, html } from '../html';

/** The applicant's way to continue in another browser. Not printed: a print-out may be passed on. */
export function continuationCode(code: string, sellerName: string): Html {
  return html`<section class="message no-print">
    <h2>Your code: <span class="code">${code}</span></h2>
    <p>
      Keep this code to open this page on another device, or if you lose access to this browser. It works once. Do not
      give it to anyone, including ${sellerName}.
    </p>
  </section>`;
}
