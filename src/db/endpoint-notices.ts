import type { EndpointTurn } from '../domain/webhook';
import { type AttemptFailure, type WebhookEndpoint, calledOrigins } from './webhook-endpoints';
import type { DbClient } from './pool';

export type EndpointKey = Pick<WebhookEndpoint, 'sellerId' | 'origin'>;

/** What a seller is to be told of an endpoint. */
interface EndpointNotice extends EndpointKey {
  sellerName: string;
  sandbox: boolean;
  turn: EndpointTurn;
  /** `failing`: when the first attempt failed. `exhausted`: the last attempt. `answering`: when the failure was told. */
  at: Date;
  /** The last attempt that failed; null for `answering`. */
  failure: AttemptFailure | null;
}

/** The accounts whose contacts can be written to. */
type Accounts = Record<'sandbox' | 'live', boolean>;

/** SQL: attempts at an endpoint `o` in a state `s`, each time one look-up in an index. */
const ATTEMPTS = 'webhook_attempt where seller_id = o.seller_id and origin = o.origin and endpoint_state = s.state';

/**
 * SQL: what is to be told of endpoints of sellers who have undelivered webhooks, or were told of a failure. Each turn is
 * told once, and at most once a day.
 * $1 and $2: whether contacts of sandbox and of live accounts are written to.
 */
const DUE = `select o.seller_id as "sellerId", o.origin, o.name as "sellerName", o.sandbox, turns.turn, turns.at, failure
  from (
    select s.id as seller_id, s.name, s.sandbox, origins.origin from seller s, lateral ${calledOrigins('s.id')}
    where case when s.sandbox then $1::boolean else $2::boolean end and s.disabled_at is null
      and (exists (select from webhook_event where seller_id = s.id and state <> 'delivered')
        or exists (select from endpoint_notice where seller_id = s.id))
  ) o
  left join lateral (select at, position from (values ('answering')) s(state), lateral (
    select at, position from ${ATTEMPTS} order by position desc limit 1) a) answered on true
  left join lateral (select min(a.at) as at from unnest(array['failing', 'not_answering']) s(state), lateral (
    select at from ${ATTEMPTS} and position > coalesce(answered.position, 0) order by position limit 1) a) since on true
  left join lateral (select a.* from unnest(array['failing', 'not_answering']) s(state), lateral (
    select * from ${ATTEMPTS} order by position desc limit 1) a order by position desc limit 1) failed on true
  left join lateral (select max(a.at) as at from (
      select id from webhook_event where seller_id = o.seller_id and state = 'exhausted' order by created_at desc limit 100
    ) e, lateral (select at, origin from webhook_attempt where event_id = e.id order by attempt desc limit 1) a
    where a.origin = o.origin and a.at > now() - interval '1 day') exhausted on true
  left join endpoint_notice told on told.seller_id = o.seller_id and told.origin = o.origin and told.turn = 'failing',
  lateral (values
    ('failing', case when since.at < now() - interval '1 hour' and failed.at > now() - interval '1 day' then since.at end),
    ('exhausted', exhausted.at),
    ('answering', case when since.at is null and answered.at > told.at then told.at end)) turns (turn, at),
  lateral (select case when turns.turn <> 'answering' then json_build_object(
    'status', failed.status, 'error', failed.error, 'errorDetail', failed.error_detail) end as failure) f
  where turns.at is not null and not exists (
    select from endpoint_notice n where n.seller_id = o.seller_id and n.origin = o.origin and n.turn = turns.turn
      and (n.at > turns.at or n.at > now() - interval '1 day'))`;

/** Finds endpoints whose sellers are to be told something. */
export async function findEndpointsToTell(db: DbClient, to: Accounts, limit: number): Promise<EndpointKey[]> {
  const { rows } = await db.query<EndpointKey>(`select distinct "sellerId", origin from (${DUE}) due limit $3`, [
    to.sandbox,
    to.live,
    limit,
  ]);
  return rows;
}

/** Finds what a seller is to be told of an endpoint now. */
export async function findDueNotice(
  db: DbClient,
  to: Accounts,
  { sellerId, origin }: EndpointKey,
): Promise<EndpointNotice | undefined> {
  const { rows } = await db.query<EndpointNotice>(
    `select * from (${DUE}) due where "sellerId" = $3 and origin = $4 order by at limit 1`,
    [to.sandbox, to.live, sellerId, origin],
  );
  return rows[0];
}

export async function recordNotice(db: DbClient, { sellerId, origin, turn }: EndpointNotice): Promise<void> {
  await db.query(
    `insert into endpoint_notice (seller_id, origin, turn) values ($1, $2, $3)
     on conflict (seller_id, origin, turn) do update set at = now()`,
    [sellerId, origin, turn],
  );
}
