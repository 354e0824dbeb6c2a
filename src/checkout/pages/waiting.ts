import type { WaitingState } from '../checkout-state';
import { formatDateTime } from '../format';
import { type Html, html } from '../html';
import type { Page } from '../layout';

const REFRESH_SECONDS = 5;
const SLOW_REFRESH_SECONDS = 30;
/** From then on the page says that the wait is longer than usual. */
const LONG_WAIT_MS = 30_000;
/** From then on the page reloads less often, because few customers still watch it. */
const VERY_LONG_WAIT_MS = 90_000;

export interface WaitingOptions {
  path: string;
  state: WaitingState;
  /** When the customer sent the application or the agreement. */
  since: Date;
  /** False if the customer turned automatic updates off (WCAG 2.2, 2.2.1). */
  isRefreshing: boolean;
  now: Date;
  /** How the customer continues in another browser. */
  code: Html | undefined;
}

const TEXTS: Record<WaitingState, { title: string; soon: string; late: string; sent: string }> = {
  waiting: {
    title: 'Waiting for the lender',
    soon: 'The decision usually takes a few seconds.',
    late: 'This is taking longer than usual. The lender has not responded yet. We will keep trying.',
    sent: 'application',
  },
  referred: {
    title: 'The lender is reviewing your application',
    soon: 'The lender needs more time to decide.',
    late: 'The lender needs more time to decide.',
    sent: 'application',
  },
  completing: {
    title: 'We are completing your order',
    soon: 'This usually takes a few seconds.',
    late: 'This is taking longer than usual. You do not need to do anything else. Do not pay in any other way.',
    sent: 'agreement',
  },
};

/** Step 3, and the wait after step 4 while the order is completed. */
export function waitingPage({ path, state, since, isRefreshing, now, code }: WaitingOptions): Page {
  const { title, soon, late, sent } = TEXTS[state];
  const waitedMs = now.getTime() - since.getTime();
  const afterSeconds = waitedMs > VERY_LONG_WAIT_MS ? SLOW_REFRESH_SECONDS : REFRESH_SECONDS;
  // A completed order continues to the seller.
  const url = state === 'completing' ? `${path}/return/` : `${path}/`;
  return {
    title,
    // An order that is being completed is past the steps and cannot be finished later.
    ...(state !== 'completing' && { step: 3 }),
    ...(isRefreshing && { refresh: { afterSeconds, url } }),
    content: html`<p class="icon busy"></p>
      <h1>${title}</h1>
      <p>${waitedMs > LONG_WAIT_MS ? late : soon}</p>
      <p>
        We saved your ${sent} on ${formatDateTime(since)}. You can close this page and return to it with the same link.
      </p>
      ${
        isRefreshing
          ? html`<p class="note no-print">
              This page updates automatically every ${afterSeconds} seconds.
              <a href="${path}/?refresh=off">Turn off automatic updates</a>
            </p>`
          : html`<a class="button" href="${path}/?refresh=off">Check now</a>
              <p class="note"><a href="${path}/">Turn on automatic updates</a></p>`
      }
      ${code}`,
  };
}
