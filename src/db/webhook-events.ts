import type { WebhookState } from '../domain/webhook';
import { makeDueForResends } from './order-work';
import { type Db, type DbClient, inTransaction } from './pool';
import { activeSecretsOf } from './secrets';
import { ORIGIN, mayProbe } from './endpoint-breaker';

/** A webhook event that the delivery queue of its order still has to send. */
export interface PendingWebhook {
  id: string;
  sequence: number;
  /** Attempts made by the schedule. */
  attempts: number;
  /** Milliseconds until the next attempt; null if none is scheduled, as before the first attempt. */
  waitMs: number | null;
  /** Milliseconds since the last attempt of the schedule; 0 before the first attempt. */
  waitedMs: number;
}

/**
 * SQL, the progress of an event `e`. Durations by the clock of Postgres, because the workers' clocks may differ from
 * it.
 */
const EVENT_STATE = `e.state, e.attempts,
  case when e.next_attempt_at is not null
    then round(extract(epoch from greatest(e.next_attempt_at - now(), '0')) * 1000)::float8 end as "waitMs",
  coalesce((select round(extract(epoch from greatest(now() - max(a.at + a.duration_ms * interval '1 ms'), '0')) * 1000)
    from webhook_attempt a where a.event_id = e.id and a.step is not null), 0)::float8 as "waitedMs"`;

/** An order's pending webhooks, in the order in which they are sent. */
export async function findPendingWebhooks(db: DbClient, orderId: string): Promise<PendingWebhook[]> {
  const { rows } = await db.query<PendingWebhook & EventState>(
    `select e.id, e.sequence, ${EVENT_STATE} from webhook_event e
     where e.order_id = $1 and e.state = 'pending' order by e.sequence`,
    [orderId],
  );
  return rows.map(({ id, sequence, attempts, waitMs, waitedMs }) => ({ id, sequence, attempts, waitMs, waitedMs }));
}

/** How far the delivery of an event has progressed. */
export type EventState = Pick<PendingWebhook, 'attempts' | 'waitMs' | 'waitedMs'> & { state: WebhookState };

/** The state of an event, and whether a 410 has disabled the webhooks of its order. A delivered resend enables them again. */
export type DeliveryProgress = EventState & { webhooksDisabled: boolean };

/** The data of an event that an attempt needs. */
export interface WebhookEvent extends DeliveryProgress {
  id: string;
  url: string;
  body: string;
  orderId: string;
  sellerId: string;
  sequence: number;
  /** Of the URL. */
  origin: string;
  /** The request that made the change. */
  requestId: string | null;
  traceparent: string | null;
  /** The secrets that sign it now, encrypted. */
  encryptedSecrets: string[];
  resendRequested: boolean;
  resendUrgent: boolean;
  /** True if the endpoint has not answered the last attempt. */
  hasUnansweredAttempts: boolean;
  /** True if deliveries wait until the endpoint answers. */
  isBreakerOpen: boolean;
  /** True if the next delivery may probe it. */
  probeDue: boolean;
  /** True if an urgent resend may probe it. */
  urgentProbeDue: boolean;
}

/**
 * An older event no longer waits for its endpoint: its remaining attempts are made as the schedule requires, so that it
 * ends even if the endpoint never answers again. Longer than the schedule.
 */
export const MAX_ENDPOINT_WAIT = '4 days';

export async function findWebhookEvent(db: DbClient, eventId: string): Promise<WebhookEvent | undefined> {
  const { rows } = await db.query<WebhookEvent>({
    name: 'find_webhook_event',
    text: `select e.id, o.webhook_url as url, e.body, e.order_id as "orderId", e.seller_id as "sellerId", e.sequence,
       e.request_id as "requestId", e.traceparent, ${ORIGIN} as origin, ${EVENT_STATE},
       o.webhooks_disabled as "webhooksDisabled",
       ${activeSecretsOf('e.seller_id')} as "encryptedSecrets",
       e.resend_requested_at is not null as "resendRequested", e.resend_urgent as "resendUrgent",
       s.seller_id is not null as "hasUnansweredAttempts",
       s.probe_at is not null and e.created_at > now() - interval '${MAX_ENDPOINT_WAIT}' as "isBreakerOpen",
       coalesce(${mayProbe('false')}, false) as "probeDue", coalesce(${mayProbe('true')}, false) as "urgentProbeDue"
     from webhook_event e join orders o on o.id = e.order_id
     left join endpoint_breaker s on s.seller_id = e.seller_id and s.origin = ${ORIGIN} where e.id = $1`,
    values: [eventId],
  });
  return rows[0];
}

/**
 * Locks the rows of the events' orders. Attempts and changes of one order are recorded one after the other, so that a
 * reader of the timeline never misses an entry before the last one it has read.
 */
export async function lockOrders(client: DbClient, eventIds: readonly string[]): Promise<void> {
  await client.query(
    `select from orders where id in (select order_id from webhook_event where id = any($1)) order by id for update`,
    [eventIds],
  );
}

/** The parts of an event by which the delivery queue refers to it. */
export type WebhookRef = Pick<PendingWebhook, 'id' | 'sequence'>;

/** A resend that is requested in Postgres. */
export interface RequestedResend extends WebhookRef {
  /** True if it does not wait its turn: see `URGENT_RESENDS`. */
  isUrgent: boolean;
}

export async function findResends(db: DbClient, orderId: string): Promise<RequestedResend[]> {
  const { rows } = await db.query<RequestedResend>(
    `select id, sequence, resend_urgent as "isUrgent" from webhook_event
     where order_id = $1 and resend_requested_at is not null order by resend_requested_at, sequence`,
    [orderId],
  );
  return rows;
}

/** A seller has at most this many urgent resends: as many as a person requests, and far fewer than a program. */
const URGENT_RESENDS = 20;

/**
 * Requests a resend of events. An event whose resend is requested already is sent once, unless that attempt has begun.
 * If the caller does not notify the workflows within `sweepAfterMs`, the sweep does. A resend is urgent unless the
 * seller's requested resends would be too many; one that is urgent stays so.
 * @param sweepAfterMs time for the caller to notify the workflows
 * @param gapMs between the orders, if the sweep notifies their workflows
 */
export async function requestResends(
  db: Db,
  eventIds: readonly string[],
  sweepAfterMs: number,
  gapMs = 0,
): Promise<void> {
  await inTransaction(db, async (client) => {
    await lockOrders(client, eventIds);
    await client.query(
      `update webhook_event e set resend_requested_at = now(),
         resend_urgent = (e.resend_requested_at is not null and e.resend_urgent) or cardinality($1::uuid[])
           + (select count(*) from (select from webhook_event other where other.seller_id = e.seller_id
             and other.resend_requested_at is not null and other.id <> all($1) limit $2) requested) <= $2
       where id = any($1)`,
      [eventIds, URGENT_RESENDS],
    );
    await makeDueForResends(client, eventIds, sweepAfterMs, gapMs);
  });
}
