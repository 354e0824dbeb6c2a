import { html } from '../html';
import type { Page } from '../page';
import type { WaitStage } from '../stage';
import { formatMoment } from '../words';

const REFRESH_SECONDS = 5;
/** After this we no longer say that it takes a moment. */
const LONG_MS = 30_000;
/** And after this we look less often: nobody sits before a page that starts anew all the time. */
const VERY_LONG_MS = 90_000;
const SLOW_REFRESH_SECONDS = 30;

export interface WaitingOptions {
  path: string;
  stage: WaitStage;
  /** When the customer sent what it waits with. */
  since: Date;
  /** Whether the customer would rather look for themselves (WCAG 2.2, 2.2.1). */
  isStill: boolean;
  now: Date;
}

const WORDS: Record<WaitStage, { title: string; soon: string; later: string; sent: string }> = {
  waiting: {
    title: 'We are asking the lender',
    soon: 'It usually takes a few seconds.',
    later: 'This takes longer than usual: the lender has not answered yet. We keep asking.',
    sent: 'Your application',
  },
  referred: {
    title: 'The lender is taking a closer look',
    soon: 'Your application needs a second look before it can be decided.',
    later: 'Your application needs a second look before it can be decided.',
    sent: 'Your application',
  },
  completing: {
    title: 'Your order is being completed',
    soon: 'It usually takes a few seconds.',
    later: 'This takes longer than usual. There is nothing more for you to do, so please do not pay elsewhere.',
    sent: 'Your agreement',
  },
};

/** While others are to act: the lender, or we ourselves. */
export function waitingPage({ path, stage, since, isStill, now }: WaitingOptions): Page {
  const { title, soon, later, sent } = WORDS[stage];
  const waited = now.getTime() - since.getTime();
  const seconds = waited > VERY_LONG_MS ? SLOW_REFRESH_SECONDS : REFRESH_SECONDS;
  // Once it is completed the way goes on to the shop.
  const next = stage === 'completing' ? `${path}/return/` : `${path}/`;
  return {
    title,
    // What is being completed is behind the steps, and no longer to be left for later.
    ...(stage !== 'completing' && { step: 3 }),
    ...(!isStill && { refresh: { afterSeconds: seconds, url: next } }),
    content: html`<p class="mark busy"></p>
      <h1>${title}</h1>
      <p>${waited > LONG_MS ? later : soon}</p>
      <p>${sent} of ${formatMoment(since)} is kept safe. You may close this page and come back by the same link.</p>
      ${
        isStill
          ? html`<a class="button" href="${path}/?still">Check now</a>
              <p class="aside"><a href="${path}/">Let the page update by itself</a></p>`
          : html`<p class="aside no-print">
              This page updates by itself every ${seconds} seconds. <a href="${path}/?still">Stop that</a>
            </p>`
      }`,
  };
}
