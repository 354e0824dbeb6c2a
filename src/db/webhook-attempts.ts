import type { AttemptResult, WebhookState } from '../domain/webhook';
import type { DbClient } from './pool';
import { statement } from './statement';

/** One attempt as it is stored, and its event's state after it. */
export interface AttemptRecord extends AttemptResult {
  eventId: string;
  orderId: string;
  /** True for an attempt of the retry schedule, false for a resend. */
  isScheduled: boolean;
  /** When it began, by the clock of Postgres. */
  at: Date;
  /** How the attempt ends the delivery; `pending` if it does not. */
  state: WebhookState;
  /** Milliseconds until the schedule's next attempt; null if this attempt schedules none. */
  delayMs: number | null;
}

const RECORD_ATTEMPT = `
  with locked as (
    select id, webhooks_disabled from orders where id = :orderId for update
  ), event as (
    update webhook_event e set attempts = e.attempts + 1, steps = e.steps + case when :isScheduled then 1 else 0 end,
      state = case when :state in ('delivered', 'disabled') or (:isScheduled and e.state = 'pending') then :state
        else e.state end,
      next_attempt_at = case when :state in ('delivered', 'disabled') then null
        when :isScheduled and e.state = 'pending' then now() + :delayMs::float8 * interval '1 ms'
        else e.next_attempt_at end
    from locked where e.id = :eventId returning e.id, e.attempts, e.steps, e.state, e.next_attempt_at
  ), attempt as (
    insert into webhook_attempt (event_id, attempt, step, at, duration_ms, connected_ms, headers_ms, status, error,
      error_detail, address, response_body, static_headers, next_attempt_at)
    select id, attempts, case when :isScheduled then steps end, :at, :durationMs, :connectedMs, :headersMs, :status,
      :error, :errorDetail, :address, :responseBody, :hasStaticHeaders, case when :isScheduled then next_attempt_at end
    from event
  ), order_row as (
    update orders o set webhooks_disabled = (:state = 'disabled') from locked where o.id = locked.id
      and :state in ('delivered', 'disabled') and locked.webhooks_disabled <> (:state = 'disabled')
  ), other_events as (
    update webhook_event e set state = 'disabled', next_attempt_at = null from locked
    where :state = 'disabled' and e.order_id = locked.id and e.id <> :eventId and e.state = 'pending'
  )
  select state from event`;

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
    ...statement(RECORD_ATTEMPT, { ...record }),
  });
  if (!rows[0]) throw new Error(`webhook event ${record.eventId} is missing`);
  return rows[0].state;
}

/**
 * Ends a pending event without another attempt.
 * @returns false if it had ended
 */
export async function endUnsent(db: DbClient, eventId: string, state: 'exhausted' | 'disabled'): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_event set next_attempt_at = null, state = $2 where id = $1 and state = 'pending'`,
    [eventId, state],
  );
  return rowCount === 1;
}
