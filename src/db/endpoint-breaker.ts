import { inMs } from './clock';
import type { DbClient } from './pool';

/*
 * The circuit breaker of endpoints, which all workers share. An endpoint is a seller and the origin of its webhook
 * URLs: shops put order numbers into paths, and a host that does not answer one path rarely answers another. A row
 * exists from an attempt without an answer until the next answer. After several such attempts the endpoint is silent:
 * its breaker is open.
 */

/** Times in ms. */
export interface BreakerOptions {
  /** After this many attempts in a row without an answer, the breaker opens. */
  failures: number;
  /** The wait for a probe is a quarter of the outage so far, but at least and at most this. */
  minWaitMs: number;
  maxWaitMs: number;
}

/** Longer than an attempt and its lease take. If a worker dies with its probe, another one probes after this. */
const PROBE_LEASE_MS = 30_000;
/** Between two probes, if resends are requested. */
const RESEND_PROBE_MS = 5000;
/**
 * The longest wait beside a running probe, which may end at any time. While it hangs, shorter waits would cause many
 * checks.
 */
const RUNNING_PROBE_WAIT_MS = 5000;
/**
 * Between two deliveries that wait for an endpoint, so that their checks cost the same for ten as for 20,000. It is
 * also the rate at which they are sent once it answers.
 */
const TURN_MS = 250;

/** SQL: the origin of the webhook URL of an order `o`. */
export const ORIGIN = `lower(substring(o.webhook_url from '^[^:]+://[^/?#]+'))`;

export interface Endpoint {
  sellerId: string;
  origin: string;
}

/** @param url a webhook URL of an order, or of a test */
export const originOf = (url: string): string => /^[^:]+:\/\/[^/?#]+/.exec(url)?.[0].toLowerCase() ?? '';

/** The attempts at an endpoint since its last answer. */
interface UnansweredAttempts {
  /** When the first of its attempts without an answer began. */
  since: Date;
  failures: number;
  /** When it is probed next; null while the breaker is closed. */
  probeAt: Date | null;
}

/**
 * Counts an attempt without an answer.
 * @param at when it began, by the clock of Postgres
 * @param probe only the probe that holds the lease ends it, and postpones the next probe: attempts that run when the breaker
 * opens end during the first wait, and a probe may outlive its lease
 */
export async function countUnanswered(
  db: DbClient,
  { sellerId, origin }: Endpoint,
  { failures, minWaitMs, maxWaitMs }: BreakerOptions,
  at: Date,
  probe: ProbeLease | undefined,
): Promise<UnansweredAttempts> {
  const endsProbe = '(s.probe_at = $7::timestamptz or s.probe_at is null)';
  const wait = `least(greatest((now() - least(s.since, $3)) / 4, $5 * interval '1 ms'), $6 * interval '1 ms')`;
  const { rows } = await db.query<UnansweredAttempts>(
    `insert into endpoint_breaker as s (seller_id, origin, since, failures, probe_at)
     values ($1, $2, $3, 1, case when $4 <= 1 then ${inMs('$5')} end)
     on conflict (seller_id, origin) do update set
       since = least(s.since, $3), failures = s.failures + 1,
       resend_probe_at = case when ${endsProbe} then ${inMs(String(RESEND_PROBE_MS))} else s.resend_probe_at end,
       probe_at = case when s.failures + 1 >= $4 then
         case when ${endsProbe} then now() + ${wait} else s.probe_at end end
     returning since, failures, probe_at as "probeAt"`,
    [sellerId, origin, at, failures, minWaitMs, maxWaitMs, probe?.token],
  );
  if (!rows[0]) throw new Error('an upsert returns a row');
  return rows[0];
}

/** Closes the breaker of an endpoint that has answered. Returns its unanswered attempts, if there were any. */
export async function closeBreaker(
  db: DbClient,
  { sellerId, origin }: Endpoint,
): Promise<UnansweredAttempts | undefined> {
  const { rows } = await db.query<UnansweredAttempts>(
    `delete from endpoint_breaker where seller_id = $1 and origin = $2
     returning since, failures, probe_at as "probeAt"`,
    [sellerId, origin],
  );
  return rows[0];
}

/** Longer than a delivery waits for its endpoint. */
const ABANDONED_AFTER = '7 days';

/** Deletes the breakers of endpoints that nothing has been sent to, and nothing has waited for, for days. */
export async function deleteAbandonedBreakers(db: DbClient): Promise<void> {
  await db.query(
    `delete from endpoint_breaker
     where greatest(since, probe_at, resend_probe_at, last_turn_at) < now() - interval '${ABANDONED_AFTER}'`,
  );
}

/** SQL, true if a delivery may probe the silent endpoint `s`. An urgent one does not wait for the next probe. */
export const mayProbe = (isUrgent: string): string =>
  `(case when ${isUrgent} then coalesce(s.resend_probe_at, s.probe_at) else s.probe_at end) <= now()`;

/** The right to probe an endpoint. */
export interface ProbeLease {
  /** When it expires, in Postgres' notation. No other lease of the endpoint has the same value, so it fences this one. */
  token: string;
}

/**
 * Leases the probe of an endpoint to one delivery.
 * @returns undefined if another one probes it, or it is too early
 */
export async function leaseProbe(
  db: DbClient,
  { sellerId, origin }: Endpoint,
  isUrgent: boolean,
): Promise<ProbeLease | undefined> {
  const { rows } = await db.query<ProbeLease>(
    `update endpoint_breaker s set probe_at = ${inMs('$4')}, resend_probe_at = ${inMs('$4')}
     where seller_id = $1 and origin = $2 and ${mayProbe('$3')} returning probe_at::text as token`,
    [sellerId, origin, isUrgent, PROBE_LEASE_MS],
  );
  return rows[0];
}

/** SQL: `at`, but no later than a delivery may wait beside a running probe. */
const besideProbe = (at: string): string => `least(${at}, ${inMs(String(RUNNING_PROBE_WAIT_MS))})`;

/**
 * SQL that postpones the next attempt of the schedule of an event's order, so that a run that resumes the order, and
 * the sweep, know that its deliveries wait. A next attempt that is already later, as when only a resend waits, keeps
 * its time.
 */
const postponeNext = (eventId: string, at: string): string =>
  `update webhook_event e set next_attempt_at = greatest(e.next_attempt_at, ${at})
   where e.state = 'pending' and e.id = (
     select next.id from webhook_event next join webhook_event waiting on waiting.order_id = next.order_id
     where waiting.id = ${eventId} and next.state = 'pending' order by next.sequence limit 1)`;

/** Releases a leased probe for which nothing was sent. One that has expired leaves the lease of the next probe as it is. */
export async function releaseProbe(db: DbClient, { sellerId, origin }: Endpoint, { token }: ProbeLease): Promise<void> {
  await db.query(
    `update endpoint_breaker set probe_at = least(probe_at, now()), resend_probe_at = least(resend_probe_at, now())
     where seller_id = $1 and origin = $2 and probe_at = $3::timestamptz`,
    [sellerId, origin, token],
  );
}

/** A delivery that waits for a silent endpoint. */
interface Turn {
  since: Date;
  waitMs: number;
  /** The id of the timeline entry about it; null if it is recorded already. */
  noteId: string | null;
}

/**
 * Gives a delivery its turn: after the next probe, and after all deliveries that wait already. An urgent one waits for
 * the next moment at which it may probe. Beside a running probe, which usually ends long before its lease, both wait
 * for seconds only.
 * @returns undefined if the breaker is closed
 */
export async function takeTurn(
  db: DbClient,
  { sellerId, origin }: Endpoint,
  eventId: string,
  isUrgent: boolean,
): Promise<Turn | undefined> {
  const { rows } = await db.query<Turn>(
    `with turn as (
       update endpoint_breaker s set last_turn_at = case when $4 then last_turn_at
         else greatest(last_turn_at + $5 * interval '1 ms', now(),
           -- Only the lease of a running probe sets both to the same time.
           case when probe_at = resend_probe_at then ${besideProbe('probe_at')} else probe_at end) end
       where seller_id = $1 and origin = $2 and probe_at is not null
       returning since, case when $4 then greatest(${besideProbe('coalesce(resend_probe_at, probe_at)')}, now())
         else last_turn_at end as at
     ), postponed as (
       ${postponeNext('$3', '(select at from turn)')} and not $4 and exists (select from turn)
     ), note as (
       select md5(e.order_id || ':' || extract(epoch from turn.since))::uuid as id
       from turn, webhook_event e where e.id = $3
     )
     select since, extract(epoch from at - now())::float8 * 1000 as "waitMs",
       (select id from note where not exists (select from order_timeline t where t.note_id = note.id)) as "noteId"
     from turn`,
    [sellerId, origin, eventId, isUrgent, TURN_MS],
  );
  return rows[0];
}

/** Records that an order's deliveries wait because one of them does. */
export async function postponeDeliveries(db: DbClient, eventId: string, waitMs: number): Promise<void> {
  await db.query(postponeNext('$1', inMs('$2')), [eventId, waitMs]);
}
