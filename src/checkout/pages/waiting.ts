import { html } from '../html';
import type { Page } from '../page';
import { formatMoment } from '../words';

const REFRESH_SECONDS = 5;
/** After this we no longer say that it takes a moment. */
const LONG_MS = 30_000;

export interface WaitingOptions {
  path: string;
  submittedAt: Date;
  isReferred: boolean;
  /** Whether the customer would rather look for themselves (WCAG 2.2, 2.2.1). */
  isStill: boolean;
  now: Date;
}

/** The third step, while the lender has not decided. */
export function waitingPage({ path, submittedAt, isReferred, isStill, now }: WaitingOptions): Page {
  const isLong = now.getTime() - submittedAt.getTime() > LONG_MS;
  const title = isReferred ? 'The lender is taking a closer look' : 'We are asking the lender';
  const url = isStill ? `${path}/?still` : `${path}/`;
  return {
    title,
    step: 3,
    ...(!isStill && { refresh: { afterSeconds: REFRESH_SECONDS, url } }),
    content: html`<p class="mark busy"></p>
      <h1>${title}</h1>
      <p>
        ${
          isReferred
            ? 'Your application needs a second look before it can be decided.'
            : isLong
              ? 'This takes longer than usual: the lender has not answered yet. We keep asking.'
              : 'It usually takes a few seconds.'
        }
      </p>
      <p>
        Your application of ${formatMoment(submittedAt)} is kept safe. You may close this page and come back by the same
        link.
      </p>
      ${
        isStill
          ? html`<a class="button" href="${url}">Check now</a>
              <p class="aside"><a href="${path}/">Let the page update by itself</a></p>`
          : html`<p class="aside no-print">
              This page updates by itself every ${REFRESH_SECONDS} seconds. <a href="${path}/?still">Stop that</a>
            </p>`
      }`,
  };
}
