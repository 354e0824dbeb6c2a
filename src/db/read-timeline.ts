import type { AttemptResult } from '../domain/webhook';
import type { OrderChange } from '../domain/order';
import { CHANGE_COLUMNS } from './orders';
import type { DbClient } from './pool';
import { type Columns, jsonOf } from './statement';

/** An entry of an order's timeline: a change, a refused signal or a webhook attempt. */
export interface TimelineEntry {
  /** Orders the entries. New entries get higher positions than those that were read. */
  position: number;
  at: Date;
  changeOrRefusal: ChangeOrRefusal | null;
  webhook: { id: string; sequence: number } | null;
  attempt: AttemptEntry | null;
}

/** A change, or a refused signal, whose version is null. */
type ChangeOrRefusal = Omit<OrderChange, 'version' | 'event' | 'at'> & { version: number | null; event: string };

interface AttemptEntry extends AttemptResult {
  attempt: number;
  /** The position in the retry schedule, from 1; null for a resend. */
  step: number | null;
  /** That was called. */
  origin: string | null;
  nextAttemptAt: string | null;
}

const ATTEMPT_COLUMNS: Columns<AttemptEntry> = {
  attempt: 'attempt',
  step: 'step',
  origin: 'origin',
  status: 'status',
  error: 'error',
  errorDetail: 'error_detail',
  address: 'address',
  durationMs: 'duration_ms',
  connectedMs: 'connected_ms',
  headersMs: 'headers_ms',
  responseBody: 'response_body',
  hasStaticHeaders: 'static_headers',
  nextAttemptAt: 'a.next_attempt_at',
};

const CHANGE = jsonOf(CHANGE_COLUMNS);
const WEBHOOK = `case when e.id is not null then json_build_object('id', e.id, 'sequence', e.sequence) end`;

/**
 * Reads an order's timeline, oldest entry first.
 * @param after the position after which to start; undefined for the first entry
 */
export async function readTimeline(
  db: DbClient,
  orderId: string,
  after: string | number | undefined,
  limit: number,
): Promise<TimelineEntry[]> {
  const { rows } = await db.query<TimelineEntry>(
    `select t.position, t.at, null as attempt, ${WEBHOOK} as webhook, ${CHANGE} as "changeOrRefusal"
     from order_timeline t left join webhook_event e on e.order_id = t.order_id and ${isStatusChange('t')}
       and e.sequence = (select count(*) from order_timeline before
         where before.order_id = t.order_id and ${isStatusChange('before')} and before.version <= t.version)
     where t.order_id = $1 and t.position > $2
     union all
     select a.position, a.at, ${jsonOf(ATTEMPT_COLUMNS)}, ${WEBHOOK}, null
     from webhook_event e cross join lateral (
       select * from webhook_attempt where event_id = e.id and position > $2 order by position limit $3) a
     where e.order_id = $1
     order by position limit $3`,
    [orderId, after ?? 0, limit],
  );
  return rows;
}

/** True if an entry of the order's timeline has this position. */
export async function isTimelinePosition(db: DbClient, orderId: string, position: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from order_timeline where order_id = $1 and position = $2
     union all
     select from webhook_attempt a join webhook_event e on e.id = a.event_id where e.order_id = $1 and a.position = $2`,
    [orderId, position],
  );
  return rowCount === 1;
}

/** SQL, true for a change `t` of an order that has a webhook: see `isStatusChange`. */
const isStatusChange = (t: string): string => `(${t}.version is not null and ${t}.from_status <> ${t}.to_status)`;
