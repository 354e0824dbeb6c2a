import {
  type AttemptResult,
  type AccountAddress,
  type BreakerOptions,
  type EndpointState,
  probeDelayMs,
} from '../domain/webhook';
import type { DbClient } from './pool';

export type AttemptFailure = Pick<AttemptResult, 'status' | 'error' | 'errorDetail'>;

/** The origin of a seller's webhook URLs, as the stored attempts show it. */
export interface WebhookEndpoint {
  sellerId: string;
  origin: string;
  /** What the last attempt shows; null if none is stored. */
  state: EndpointState | null;
  /** When the first attempt began that showed the same, without another one since; null like `state`. */
  since: Date | null;
  /** The last attempt, unless it succeeded. */
  lastFailure: AttemptFailure | null;
  /** When the next of its waiting webhooks is sent as a probe; null unless they wait. */
  nextProbeAt: Date | null;
}

interface EndpointRow extends Omit<WebhookEndpoint, 'nextProbeAt'> {
  endedAt: Date | null;
  /** Attempts since `since`, as many as the breaker counts. */
  attempts: number;
}

/** An endpoint that is no longer called is not shown. */
const SHOWN_DAYS = 30;
const MOST_SHOWN = 20;

/** SQL: of an endpoint `o`, its newest attempt in each state, at most three. Each is one look-up in an index. */
const NEWEST = `unnest(array['answering', 'failing', 'not_answering']) s(state) cross join lateral (
  select * from webhook_attempt where seller_id = o.seller_id and origin = o.origin and endpoint_state = s.state
  order by position desc limit 1) a`;

/** SQL: the origins that a seller's webhooks were sent to, at most 1,000. Each is one look-up in an index. */
export const calledOrigins = (sellerId: string): string => `(
  with recursive called as (
    (select min(origin) as origin from webhook_attempt where seller_id = ${sellerId} and endpoint_state is not null)
    union all
    select (select min(origin) from webhook_attempt
      where seller_id = ${sellerId} and origin > c.origin and endpoint_state is not null)
    from called c where c.origin is not null
  ) select origin from called where origin is not null limit 1000) origins`;

/** @param source SQL with the columns seller_id and origin */
const selectEndpoints = (source: string, attempts: string): string =>
  `select o.seller_id as "sellerId", o.origin, last.endpoint_state as state, first.at as since,
     last.at + last.duration_ms * interval '1 ms' as "endedAt", first.attempts,
     case when last.error is not null then json_build_object('status', last.status, 'error', last.error,
       'errorDetail', last.error_detail) end as "lastFailure"
   from ${source} left join lateral (select a.* from ${NEWEST} order by position desc limit 1) last on true
   left join lateral (
     select min(at) as at, count(*)::integer as attempts from (
       select at from webhook_attempt where seller_id = o.seller_id and origin = o.origin
         and endpoint_state = last.endpoint_state and position > coalesce(
           (select max(a.position) from ${NEWEST} where s.state <> last.endpoint_state), 0)
       order by position limit ${attempts}) streak) first on true`;

/** Describes endpoints, each once, in no order. @param endpoints an empty origin stands for none */
export async function findEndpoints(
  db: DbClient,
  breaker: BreakerOptions,
  endpoints: readonly Pick<WebhookEndpoint, 'sellerId' | 'origin'>[],
): Promise<WebhookEndpoint[]> {
  if (endpoints.length === 0) return [];
  const { rows } = await db.query<EndpointRow>(
    selectEndpoints(
      `(select distinct * from unnest($1::uuid[], $2::text[]) called(seller_id, origin)
       where origin <> '') o`,
      '$3',
    ),
    [endpoints.map(({ sellerId }) => sellerId), endpoints.map(({ origin }) => origin), breaker.failures],
  );
  return rows.map((row) => toEndpoint(breaker, row));
}

/** Lists the endpoints of a seller that were called lately, those that do not answer first. */
export async function listEndpoints(
  db: DbClient,
  breaker: BreakerOptions,
  sellerId: string,
): Promise<WebhookEndpoint[]> {
  const { rows } = await db.query<EndpointRow>(
    `select * from (${selectEndpoints(`(select $1::uuid as seller_id, origin from ${calledOrigins('$1')}) o`, '$2')}) e
     where e."endedAt" > now() - ${SHOWN_DAYS} * interval '1 day'
     order by array_position(array['not_answering', 'failing', 'answering'], e.state), e."endedAt" desc limit ${MOST_SHOWN}`,
    [sellerId, breaker.failures],
  );
  return rows.map((row) => toEndpoint(breaker, row));
}

function toEndpoint(breaker: BreakerOptions, { endedAt, attempts, ...row }: EndpointRow): WebhookEndpoint {
  const { state, since } = row;
  const isWaiting = state === 'not_answering' && attempts >= breaker.failures;
  const probeAt = (at: Date, from: Date) =>
    new Date(at.getTime() + probeDelayMs(breaker, at.getTime() - from.getTime()));
  return { ...row, nextProbeAt: isWaiting && endedAt && since ? probeAt(endedAt, since) : null };
}

export async function findAccountAddress(db: DbClient, sellerId: string): Promise<AccountAddress> {
  const { rows } = await db.query<AccountAddress>(
    'select webhook_url as url, webhook_replaces as replaces from seller where id = $1',
    [sellerId],
  );
  return rows[0] ?? { url: null, replaces: [] };
}

export async function setAccountAddress(
  db: DbClient,
  sellerId: string,
  { url, replaces }: AccountAddress,
): Promise<void> {
  await db.query('update seller set webhook_url = $2, webhook_replaces = $3 where id = $1', [sellerId, url, replaces]);
}
