import type { WebhookState } from '../domain/webhook';
import type { DbClient } from './pool';

/** One attempt as it is stored, and its event's state after it. */
export interface AttemptRecord {
  eventId: string;
  orderId: string;
  /** True for an attempt of the retry schedule, false for a resend. */
  isScheduled: boolean;
  /** When it began, by the clock of Postgres. */
  at: Date;
  durationMs: number;
  connectedMs: number | null;
  headersMs: number | null;
  status: number | null;
  error: string | null;
  errorDetail: string | null;
  address: string | null;
  responseBody: string;
  hasStaticHeaders: boolean;
  /** How the attempt ends the delivery; `pending` if it does not. */
  state: WebhookState;
  /** Milliseconds until the schedule's next attempt; null if this attempt schedules none. */
  delayMs: number | null;
}

/**
 * Records an attempt and the event's new state. A delivery ends the event, whichever attempt made it. A 410 (`disabled`)
 * disables all pending and further events of the order, until a resend is delivered. A failed resend does not change the
 * schedule. The order's row is locked first, as for every entry of its timeline: positions are taken in the order in
 * which they are recorded.
 * @returns the event's state afterwards
 */
export async function recordAttempt(db: DbClient, record: AttemptRecord): Promise<WebhookState> {
  const { rows } = await db.query<{ state: WebhookState }>({
    name: 'record_attempt',
    text: `with locked as (
       select id, webhooks_disabled from orders where id = $2 for update
     ), event as (
       update webhook_event e set attempts = e.attempts + 1, steps = e.steps + case when $3 then 1 else 0 end,
         state = case when $13 in ('delivered', 'disabled') or ($3 and e.state = 'pending') then $13 else e.state end,
         next_attempt_at = case when $13 in ('delivered', 'disabled') then null
           when $3 and e.state = 'pending' then now() + $14::float8 * interval '1 ms' else e.next_attempt_at end
       from locked where e.id = $1 returning e.id, e.attempts, e.steps, e.state, e.next_attempt_at
     ), attempt as (
       insert into webhook_attempt (event_id, attempt, step, at, duration_ms, connected_ms, headers_ms, status, error,
         error_detail, address, response_body, static_headers, next_attempt_at)
       select id, attempts, case when $3 then steps end, $4, $5, $6, $7, $8, $9, $10, $11, $12, $15,
         case when $3 then next_attempt_at end from event
     ), order_row as (
       update orders o set webhooks_disabled = ($13 = 'disabled') from locked
       where o.id = locked.id and $13 in ('delivered', 'disabled') and locked.webhooks_disabled <> ($13 = 'disabled')
     ), other_events as (
       update webhook_event e set state = 'disabled', next_attempt_at = null
       from locked where $13 = 'disabled' and e.order_id = locked.id and e.id <> $1 and e.state = 'pending'
     )
     select state from event`,
    values: [
      record.eventId,
      record.orderId,
      record.isScheduled,
      record.at,
      record.durationMs,
      record.connectedMs,
      record.headersMs,
      record.status,
      record.error,
      record.errorDetail,
      record.address,
      record.responseBody,
      record.state,
      record.delayMs,
      record.hasStaticHeaders,
    ],
  });
  if (!rows[0]) throw new Error(`webhook event ${record.eventId} is missing`);
  return rows[0].state;
}

/**
 * Gives up a pending event so that a later one can be sent.
 * @returns false if it had ended
 */
export async function markExhausted(db: DbClient, eventId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_event set next_attempt_at = null, state = 'exhausted' where id = $1 and state = 'pending'`,
    [eventId],
  );
  return rowCount === 1;
}
