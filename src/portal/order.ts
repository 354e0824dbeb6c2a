import { html, type Html } from '../html/html';
import type { OrderBody } from '../contracts/order-schemas';
import type { TimelineEntryBody } from '../contracts/webhook-schemas';
import { type OrderEvent, isFinal, transition } from '../domain/order';
import type { Visit } from './context';
import { form, table, time } from './layout';
import { STATUS_LABELS, TERM_LABELS, formatAmount, statusBadge } from './orders-list';
import { STATES } from './webhooks';

type Change = Extract<TimelineEntryBody, { type: 'change' }>;
type Attempt = Extract<TimelineEntryBody, { type: 'webhook_attempt' }>;

export interface OrderPage {
  visit: Visit;
  order: OrderBody;
  /** Oldest first. */
  timeline: readonly TimelineEntryBody[];
  /** True if there are later entries than these. */
  hasMore: boolean;
  /** What the open order waits for. */
  waitingFor: string | undefined;
}

/** What a seller of a sandbox account can simulate, and its button. */
const SIMULATIONS = {
  signup_started: 'Start the signup',
  approved: 'Approve',
  declined: 'Decline',
  completed: 'Complete',
  expired: 'Let it expire',
} as const satisfies Partial<Record<OrderEvent, string>>;
const SIMULATED = Object.keys(SIMULATIONS) as (keyof typeof SIMULATIONS)[];

export function orderPage(page: OrderPage): Html {
  const { visit, order, timeline, hasMore, waitingFor } = page;
  return html`<p class="headline">
      <strong>${formatAmount(order.amount)}</strong> ${statusBadge(order.status)}
      ${waitingFor !== undefined && html`<span class="waits">${waitingFor}</span>`}
    </p>
    ${facts(order, addressOf(page))} ${!visit.session.readOnly && orderActions(visit, order)}
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <ol class="timeline">
        ${timeline.map((entry) => timelineEntry(entry))}
      </ol>
      ${hasMore && html`<p class="hint">The first ${timeline.length} entries. The API has the others.</p>`}
    </section>
    ${webhooks(page)}`;
}

/** Where the order's webhooks go now: the account may replace the order's own URL. */
const addressOf = ({ order, timeline }: OrderPage): string | undefined =>
  timeline.flatMap((entry) => (entry.type === 'change' && entry.webhook?.url) || []).at(-1) ?? order.webhook_url;

function facts(order: OrderBody, address: string | undefined): Html {
  const { settlement } = order;
  const row = (name: string, value: Html | string | undefined): Html | false =>
    value !== undefined &&
    html`<dt>${name}</dt>
      <dd>${value}</dd>`;
  const moment = (at: string | undefined): Html | undefined => (at === undefined ? undefined : time(at));
  return html`<dl class="facts">
    ${row('Order ID', order.id)} ${row('Created', moment(order.created_at))}
    ${row('Completed', moment(order.completed_at))} ${row('Cancelled', moment(order.cancelled_at))}
    ${row('Expires', isFinal(order.status) ? undefined : moment(order.expires_at))}
    ${row('Why it is unsuccessful', order.unsuccessful_reason)}
    ${row('Payment', order.payment_term && TERM_LABELS[order.payment_term])} ${row('Webhooks go to', address)}
    ${row('Created by', order.source)}
    ${
      settlement &&
      row(
        'Payout',
        html`${settlement.payout_date}, reference ${settlement.reference}, fee ${formatAmount(settlement.fee)}`,
      )
    }
    <dt><label for="link">The customer’s link</label></dt>
    <dd><input id="link" class="copy" readonly value="${order.order_url}" /></dd>
  </dl>`;
}

function orderActions(visit: Visit, order: OrderBody): Html | false {
  const canCancel = !isFinal(order.status);
  const possible = order.sandbox === true ? SIMULATED.filter((event) => transition(order.status, event)) : [];
  return (
    (canCancel || possible.length > 0) &&
    html`<section class="actions" aria-label="Actions">
      ${canCancel && html`<a class="button secondary" href="${visit.path}/orders/${order.id}/cancel/">Cancel this order…</a>`}
      ${
        possible.length > 0 &&
        html`<fieldset>
          <legend>Simulate, in this sandbox account</legend>
          ${possible.map((event) =>
            form(
              visit,
              `/orders/${order.id}/simulate/`,
              html`<input type="hidden" name="event" value="${event}" />
                <button class="secondary">${SIMULATIONS[event]}</button>`,
            ),
          )}
        </fieldset>`
      }
    </section>`
  );
}

/** Asks before an order is cancelled. */
export function cancelPage(visit: Visit, order: OrderBody): Html {
  const path = `/orders/${order.id}`;
  return html`<p>
      ${formatAmount(order.amount)}, ${STATUS_LABELS[order.status].toLowerCase()}. The customer can no longer complete
      it, and a payment that is under way goes back. This cannot be undone.
    </p>
    ${form(visit, `${path}/cancel/`, html`<button class="danger">Cancel the order</button>`)}
    <p><a href="${visit.path}${path}/">Keep it</a></p>`;
}

const EVENTS: Record<string, string> = {
  created: 'The order was created',
  signup_started: 'The customer started the signup',
  approved: 'The customer was approved',
  declined: 'The customer was declined',
  completed: 'The customer completed the order',
  failed: 'The order failed',
  expired: 'The order expired',
  cancel: 'The order was cancelled',
};

const ACTORS: Record<string, string> = {
  seller: 'your shop',
  customer: 'the customer',
  checkout: 'the checkout',
  operator: 'an operator of the service',
  system: 'the service',
};

function timelineEntry(entry: TimelineEntryBody): Html | false {
  if (entry.type === 'webhook_attempt') return false;
  const { at, event, actor, channel, reason } = entry;
  const who = channel === 'portal' ? 'you, on this page' : (ACTORS[actor] ?? actor);
  const what =
    entry.type === 'change'
      ? (EVENTS[event] ?? event)
      : `A message was refused, because the order was ${STATUS_LABELS[entry.order_status].toLowerCase()}: ${event}`;
  const term =
    entry.type === 'change' && entry.payment_term ? `, ${TERM_LABELS[entry.payment_term].toLowerCase()}` : '';
  return html`<li>
    ${time(at)}
    <span>${what}${term}. <span class="hint">By ${who}${reason !== null && `: ${reason}`}</span></span>
  </li>`;
}

function webhooks({ visit, timeline }: OrderPage): Html {
  const sent = timeline.filter((entry): entry is Change => entry.type === 'change' && entry.webhook !== null);
  const attemptsOf = (id: string): Attempt[] =>
    timeline.filter((entry): entry is Attempt => entry.type === 'webhook_attempt' && entry.webhook_id === id);
  return html`<section aria-labelledby="webhooks">
    <h2 id="webhooks">Webhooks</h2>
    ${
      sent.length === 0
        ? html`<p class="empty">None yet. One is sent for each change of the status.</p>`
        : sent.map((change) => webhook(change, attemptsOf(change.webhook?.id ?? '')))
    }
  </section>`;

  function webhook({ webhook: one, to }: Change, attempts: readonly Attempt[]): Html | false {
    if (one === null) return false;
    const { id, sequence, state, next_attempt_at: next, last_error: error, content_deleted_at: deleted } = one;
    return html`<article class="webhook">
      <h3>Webhook ${sequence}: ${STATUS_LABELS[to]} <span class="badge ${state}">${STATES[state]}</span></h3>
      ${error !== null && html`<p class="${attempts.length > 0 ? 'error' : ''}">${error}</p>`}
      ${next !== null && html`<p>Next attempt: ${time(next)}</p>`}
      ${deleted !== null && html`<p class="hint">Its body and attempts were deleted on ${time(deleted)}.</p>`}
      ${
        attempts.length > 0 &&
        table(`Attempts of webhook ${sequence}`, ['Attempt', 'Result', '#Duration'], attempts.map(attemptCells))
      }
      ${
        deleted === null &&
        form(
          visit,
          `/webhooks/${id}/resend/`,
          html`<button class="secondary" aria-label="Resend webhook ${sequence}">Resend</button>`,
        )
      }
    </article>`;
  }
}

function attemptCells({
  at,
  resend,
  status,
  error,
  error_detail: detail,
  duration_ms: ms,
  response_body: body,
}: Attempt) {
  return [
    html`${time(at)}${resend && ' (resend)'}`,
    html`${status ?? error ?? ''}
    ${error !== 'http_status' && detail !== null && html`<span class="hint">${detail}</span>`}
    ${body !== '' && html`<code class="hint">${body.slice(0, 200)}</code>`}`,
    `${ms} ms`,
  ];
}
