import type { TimelineEntryBody } from '../contracts/webhook-schemas';
import { toAttemptFields } from '../contracts/webhook-mapper';
import { type TimelineEntry, isTimelinePosition, readTimeline } from '../db/read-timeline';
import type { OrderDependencies } from './dependencies';
import { type Page, type PageRequest, toPage, unknownCursor } from './list-page';
import { requireOrder } from './read-order';

/**
 * Retrieves the timeline of a seller's order, oldest entry first.
 * @throws Problem `not_found`, or `invalid_request` if the cursor is not one of the order's entries
 */
export async function retrieveTimeline(
  deps: OrderDependencies,
  orderId: string,
  sellerId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<TimelineEntryBody>> {
  await requireOrder(deps, orderId, sellerId);
  if (cursor !== undefined && !(await isTimelinePosition(deps.db, orderId, cursor))) throw unknownCursor();
  const entries = await readTimeline(deps.db, orderId, cursor, limit + 1);
  const page = toPage(entries, limit, ({ position }) => String(position));
  return { ...page, data: page.data.map(toTimelineEntryBody) };
}

export function toTimelineEntryBody({ at: date, changeOrRefusal, webhook, attempt }: TimelineEntry): TimelineEntryBody {
  const at = date.toISOString();
  if (attempt && webhook) {
    return {
      type: 'webhook_attempt',
      at,
      webhook_id: webhook.id,
      sequence: webhook.sequence,
      attempt: attempt.attempt,
      resend: attempt.step === null,
      ...toAttemptFields(attempt),
      next_attempt_at: toIso(attempt.nextAttemptAt),
    };
  }
  if (!changeOrRefusal) throw new Error('a timeline entry is no change, refusal or attempt');
  const { version, event, from, to, actor, channel, reason, paymentTerm } = changeOrRefusal;
  if (version === null) return { type: 'refusal', at, event, order_status: to, actor, channel, reason };
  return {
    type: 'change',
    at,
    event,
    from,
    to,
    actor,
    channel,
    reason,
    payment_term: paymentTerm,
    version,
    webhook: webhook && {
      id: webhook.id,
      sequence: webhook.sequence,
      state: webhook.state,
      next_attempt_at: toIso(webhook.nextAttemptAt),
      content_deleted_at: toIso(webhook.contentDeletedAt),
    },
  };
}

/** Postgres writes times into JSON in its own time zone. */
function toIso(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
