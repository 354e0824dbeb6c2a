import type { WaitingState } from '../domain/checkout-state';
import { isCurrent } from '../domain/payment';
import { formatDateTime } from './format';
import { type Html, html } from '../../html/html';
import type { Page } from './layout';
import type { View } from './view';

const REFRESH_SECONDS = 5;
const SLOW_REFRESH_SECONDS = 30;
/** A page that is loaded later states that the wait is longer than usual: it is shown 15 s after the start at the latest. */
const LONG_WAIT_MS = 10_000;
/** From then on the page reloads less often, because few customers still watch it. */
const VERY_LONG_WAIT_MS = 90_000;

/**
 * A page that reloads by itself, and the note that states it.
 * @param url where an update leads
 */
export function autoUpdate(
  { path, isRefreshing }: View,
  url: string,
  waitedMs: number,
): { refresh: Partial<Page>; note: Html } {
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

const TEXTS: Record<WaitingState, (view: View) => Texts> = {
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
  completing: (view) => ({
    title: 'We are completing your order',
    soon: 'This usually takes a few seconds.',
    late: DO_NOTHING,
    saved: isPaidNow(view) ? 'You approved the payment on' : 'We saved your agreement on',
  }),
};

/** The customer waits for the lender, the bank or the service. */
export function waitingPage(state: WaitingState, view: View): Page {
  const { path, now, mailTo, elsewhere } = view;
  const { title, soon, late, saved, step } = TEXTS[state](view);
  const since = lastStepAt(state, view) ?? now;
  const waitedMs = now.getTime() - since.getTime();
  const isCustomerDone = state === 'completing' || state === 'confirming';
  // A completed order continues to the seller.
  const { refresh, note } = autoUpdate(view, isCustomerDone ? `${path}/return/` : `${path}/`, waitedMs);
  return {
    title,
    ...(step && { step }),
    paymentTerm: isPaidNow(view) ? 'PAY_NOW' : 'PAY_LATER',
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
      ${note} ${!isPaidNow(view) && elsewhere}`,
  };
}

const isPaidNow = ({ payment }: View): boolean => payment !== undefined && isCurrent(payment.status);

/** When the customer sent the application, approved the payment or agreed. */
function lastStepAt(state: WaitingState, { application, payment }: View): Date | null | undefined {
  switch (state) {
    case 'waiting':
    case 'referred':
      return application?.submitted?.at;
    case 'confirming':
      return payment?.approvedAt;
    case 'completing':
      return payment?.status === 'paid' ? payment.approvedAt : application?.agreedAt;
  }
}
