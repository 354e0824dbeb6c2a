import type { DbClient } from '../../db/pool';
import type { MailAccounts } from '../../mail/mailer';

/**
 * What an applicant is written about. `link`: to continue on another device. `review`: the lender decides later. `closed`:
 * the order ended before it was complete.
 */
type MailKind = 'link' | 'review' | 'decided' | 'agreed' | 'closed';

/** Links that were requested within an hour for one order. */
const LINKS_PER_HOUR = 3;
/** SQL: how long a link works. */
export const LINK_VALID = `interval '30 minutes'`;
/** SQL: what an older mail would tell is old news, so it is no longer tried. */
const TRIED_FOR = `interval '3 days'`;

/**
 * SQL: the mail that is to be sent to the applicant of an application `a` of an order `o`, if there is one: its `kind`, the
 * time of its event, and this time in ms, by which `a.mailed` holds what was sent. $1 and $2: whether mails of sandbox and
 * of live accounts go somewhere.
 */
const DUE_MAIL = `lateral (
  select kind, at, key from (values
    ('link', (select max(t) from unnest(a.link_requests) t), ${LINK_VALID}),
    ('closed', case when o.status = 'UNSUCCESSFUL' then o.closed_at end, ${TRIED_FOR}),
    ('agreed', case when o.status = 'SUCCESSFUL' then a.agreed_at end, ${TRIED_FOR}),
    ('decided', case when o.status = 'APPROVED' and a.decision = 'approved' and a.agreed_at is null
       or o.status = 'PENDING' and a.decision in ('declined', 'failed') and a.payment_term = 'PAY_LATER'
       then a.decided_at end, ${TRIED_FOR}),
    ('review', case when o.status = 'PENDING' and a.decision is null then a.referred_at end, ${TRIED_FOR})
  ) as event (kind, at, within), lateral (select round(extract(epoch from at) * 1000)::text as key) as k
  where a.email is not null and case when o.sandbox then $1::boolean else $2::boolean end
    and at > now() - within and a.mailed ->> kind is distinct from key
  limit 1) as due`;

export interface DueMail {
  kind: MailKind;
  /** When the event happened. */
  at: Date;
  /** Distinguishes it from other events of its kind. */
  key: string;
}

/** Finds a mail that is to be sent to the applicant of an order. */
export async function findDueMail(db: DbClient, orderId: string, to: MailAccounts): Promise<DueMail | undefined> {
  const { rows } = await db.query<DueMail>(
    `select due.* from application a join checkout_order o on o.id = a.order_id, ${DUE_MAIL} where a.order_id = $3`,
    [to.sandbox, to.live, orderId],
  );
  return rows[0];
}

/** Finds orders whose applicant is to be written to. Reads open applications, and closed ones until their mail is sent. */
export async function findOrdersToMail(
  db: DbClient,
  to: MailAccounts,
  limit: number,
): Promise<{ id: string; sellerId: string }[]> {
  const { rows } = await db.query<{ id: string; sellerId: string }>(
    `select o.id, o.seller_id as "sellerId" from application a join checkout_order o on o.id = a.order_id, ${DUE_MAIL}
     where a.closed_at is null and a.purged_at is null order by random() limit $3`,
    [to.sandbox, to.live, limit],
  );
  return rows;
}

/** Marks applications of closed orders for which nothing is left to do: the searches of the jobs leave them out. */
export async function closeApplications(db: DbClient, to: MailAccounts): Promise<void> {
  await db.query(
    `update application set closed_at = now() where id in (
       select a.id from application a join checkout_order o on o.id = a.order_id
       where a.closed_at is null and o.status in ('SUCCESSFUL', 'UNSUCCESSFUL')
         and not exists (select from ${DUE_MAIL}))`,
    [to.sandbox, to.live],
  );
}

export async function recordMailed(db: DbClient, orderId: string, { kind, key }: DueMail): Promise<void> {
  await db.query(
    'update application set mailed = mailed || jsonb_build_object($2::text, $3::text) where order_id = $1',
    [orderId, kind, key],
  );
}

/**
 * Records that a link to continue on another device is to be sent.
 * @returns false if there is nobody to send it to, or too many were requested within an hour
 */
export async function recordLinkRequest(db: DbClient, orderId: string): Promise<boolean> {
  const recent = `array(select t from unnest(link_requests) t where t > now() - interval '1 hour')`;
  const { rowCount } = await db.query(
    `update application set link_requests = ${recent} || date_trunc('milliseconds', now())
     where order_id = $1 and email is not null and cardinality(${recent}) < $2`,
    [orderId, LINKS_PER_HOUR],
  );
  return rowCount === 1;
}

/**
 * Moves an application to another browser, which makes all links that were requested before unusable.
 * @param requestedAt when the link was requested that the customer uses
 * @returns false if it has been used in the meantime, or is too old
 */
export async function moveApplication(
  db: DbClient,
  orderId: string,
  requestedAt: Date,
  browserDigest: Buffer,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update application set browser_digest = $3, moved_at = now()
     where order_id = $1 and $2 = any(link_requests) and $2 > greatest(moved_at, now() - ${LINK_VALID})`,
    [orderId, requestedAt, browserDigest],
  );
  return rowCount === 1;
}
