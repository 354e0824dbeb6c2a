import type { TimelineEntryBody, WebhookEventBody } from '../contracts/webhook-schemas';
import { toAttemptFields } from '../contracts/webhook-mapper';
import { findWebhooks } from '../db/find-webhooks';
import { type TimelineEntry, isTimelinePosition, readTimeline } from '../db/read-timeline';
import type { OrderDependencies } from './dependencies';
import { type Page, toPage, unknownCursor } from './list-page';
import { requireOrder } from './read-order';
import { describeWebhooks } from './webhooks';

/**
 * Retrieves the timeline of a seller's order, oldest entry first.
 * @throws Problem `not_found`, or `invalid_request` if the cursor is not one of the order's entries
 */
export async function retrieveTimeline(
  deps: OrderDependencies,
  orderId: string,
  sellerId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<Page<TimelineEntryBody>> {
  await requireOrder(deps, orderId, sellerId);
  if (cursor !== undefined && !(await isTimelinePosition(deps.db, orderId, cursor))) throw unknownCursor();
  const entries = await readTimeline(deps.db, orderId, cursor, limit + 1);
  const page = toPage(entries, limit, ({ position }) => String(position));
  return { ...page, data: await describeTimeline(deps, orderId, page.data) };
}

/** An order has a webhook for each status change. */
const MOST_WEBHOOKS = 100;

export async function describeTimeline(
  deps: Pick<OrderDependencies, 'db' | 'breaker'>,
  orderId: string,
  entries: readonly TimelineEntry[],
): Promise<TimelineEntryBody[]> {
  const hasWebhooks = entries.some(({ changeOrRefusal, webhook }) => changeOrRefusal && webhook);
  const webhooks = hasWebhooks ? await findWebhooks(deps.db, { orderIds: [orderId] }, MOST_WEBHOOKS) : [];
  const described = new Map((await describeWebhooks(deps, webhooks)).map((webhook) => [webhook.id, webhook]));
  return entries.map((entry) => toTimelineEntryBody(entry, described));
}

function toTimelineEntryBody(
  { at: date, changeOrRefusal, webhook, attempt }: TimelineEntry,
  webhooks: ReadonlyMap<string, WebhookEventBody>,
): TimelineEntryBody {
  const at = date.toISOString();
  if (attempt && webhook) {
    return {
      type: 'webhook_attempt',
      at,
      webhook_id: webhook.id,
      sequence: webhook.sequence,
      attempt: attempt.attempt,
      resend: attempt.step === null,
      origin: attempt.origin,
      ...toAttemptFields(attempt),
      // Postgres writes times into JSON in its own time zone.
      next_attempt_at: attempt.nextAttemptAt && new Date(attempt.nextAttemptAt).toISOString(),
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
    webhook: webhook && toTimelineWebhook(webhooks.get(webhook.id)),
  };
}

function toTimelineWebhook(webhook: WebhookEventBody | undefined) {
  if (!webhook) return null;
  const { id, sequence, state, next_attempt_at, last_error, url, endpoint, content_deleted_at } = webhook;
  return { id, sequence, state, next_attempt_at, last_error, url, endpoint, content_deleted_at };
}
