import type { WaitingState } from '../domain/checkout-state';
import { formatDateTime } from './format';
import { type Html, html } from '../../html/html';
import type { Page } from './layout';
import type { ProviderDetails } from './provider-details';

const REFRESH_SECONDS = 5;
const SLOW_REFRESH_SECONDS = 30;
/** A page that is loaded later states that the wait is longer than usual: it is shown 15 s after the start at the latest. */
const LONG_WAIT_MS = 10_000;
/** From then on the page reloads less often, because few customers still watch it. */
const VERY_LONG_WAIT_MS = 90_000;

export interface AutoUpdate {
  path: string;
  /** Where an update leads. */
  url: string;
  /** False if the customer turned automatic updates off (WCAG 2.2, 2.2.1). */
  isRefreshing: boolean;
  waitedMs: number;
}

/** A page that reloads by itself, and the note that states it. */
export function autoUpdate({ path, url, isRefreshing, waitedMs }: AutoUpdate): { refresh: Partial<Page>; note: Html } {
  const afterSeconds = waitedMs > VERY_LONG_WAIT_MS ? SLOW_REFRESH_SECONDS : REFRESH_SECONDS;
  return isRefreshing
    ? {
        refresh: { refresh: { afterSeconds, url } },
        note: html`<p class="note no-print">
          This page updates automatically every ${afterSeconds} seconds.
          <a href="${path}/?refresh=off">Turn off automatic updates</a>
        </p>`,
      }
    : {
        refresh: {},
        note: html`<p class="note">
          <a href="${path}/?refresh=off">Check now</a> or <a href="${path}/">turn on automatic updates</a>
        </p>`,
      };
}

interface WaitingOptions {
  providerDetails: ProviderDetails;
  path: string;
  state: WaitingState;
  /** True if the customer pays now. */
  isPaidNow: boolean;
  /** When the customer sent the application, approved the payment or agreed. */
  since: Date;
  isRefreshing: boolean;
  now: Date;
  /** Whom we write to, as in `maskEmail`; undefined if we do not write. */
  mailTo: string | undefined;
  /** How the customer opens the page on another device. */
  elsewhere: Html | undefined;
}

interface Texts {
  title: string;
  soon: string;
  late: string;
  /** The start of the sentence that ends with the time. */
  saved: string;
  step?: Page['step'];
}

const DO_NOTHING =
  'This is taking longer than usual. You do not need to do anything else. Do not pay in any other way.';

const TEXTS: Record<WaitingState, (options: WaitingOptions) => Texts> = {
  waiting: ({ providerDetails: { lenderName } }) => ({
    title: 'Waiting for the decision',
    soon: `${lenderName} usually decides within a few seconds.`,
    late: `This is taking longer than usual. ${lenderName} has not responded yet. We keep trying.`,
    saved: 'We saved your application on',
    step: 'Your application',
  }),
  referred: ({ providerDetails: { lenderName, reviewTime } }) => {
    const text = `${lenderName} needs more time to decide. A review usually takes ${reviewTime}.`;
    return {
      title: `${lenderName} is reviewing your application`,
      soon: text,
      late: text,
      saved: 'We saved your application on',
      step: 'Your application',
    };
  },
  confirming: () => ({
    title: 'Your bank is confirming the payment',
    soon: 'This usually takes a few seconds.',
    late: DO_NOTHING,
    saved: 'You approved the payment on',
    step: 'Your payment',
  }),
  completing: ({ isPaidNow }) => ({
    title: 'We are completing your order',
    soon: 'This usually takes a few seconds.',
    late: DO_NOTHING,
    saved: isPaidNow ? 'You approved the payment on' : 'We saved your agreement on',
  }),
};

/** The customer waits for the lender, the bank or the service. */
export function waitingPage(options: WaitingOptions): Page {
  const { path, state, isPaidNow, since, isRefreshing, now, mailTo, elsewhere } = options;
  const { title, soon, late, saved, step } = TEXTS[state](options);
  const waitedMs = now.getTime() - since.getTime();
  const isCustomerDone = state === 'completing' || state === 'confirming';
  const { refresh, note } = autoUpdate({
    path,
    // A completed order continues to the seller.
    url: isCustomerDone ? `${path}/return/` : `${path}/`,
    isRefreshing,
    waitedMs,
  });
  return {
    title,
    ...(step && { step }),
    paymentTerm: isPaidNow ? 'PAY_NOW' : 'PAY_LATER',
    isCustomerDone,
    ...refresh,
    content: html`<p class="icon busy"></p>
      <h1>${title}</h1>
      <p>${waitedMs > LONG_WAIT_MS ? late : soon}</p>
      <p>
        ${saved} ${formatDateTime(since)}. This link keeps your place: you can close this page and open the link again
        in this browser at any time.
        ${mailTo !== undefined && !isCustomerDone && `We write to ${mailTo} when it is decided.`}
      </p>
      ${note} ${elsewhere}`,
  };
}
