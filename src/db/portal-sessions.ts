import { createHash } from 'node:crypto';
import type { DbClient } from './pool';
import { type Seller, SELLER_COLUMNS } from './sellers';

/** A person who uses the seller's page. */
export interface PortalSession {
  id: string;
  /** As the seller's back office has named the person. */
  user: string | null;
  readOnly: boolean;
  seller: Seller;
}

const LINK_MINUTES = 10;
const digest = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** SQL: true while the key that made a session `p` of the seller `s` works. */
const IS_ALLOWED = `s.disabled_at is null
  and (p.key_id is null or exists (select from api_key k where k.id = p.key_id and k.revoked_at is null))`;
/** SQL: true for a link that can be used. */
const IS_NEW = `p.link_digest = $1 and p.started_at is null
  and p.created_at > now() - interval '${LINK_MINUTES} minutes' and ${IS_ALLOWED}`;

/**
 * Stores a link.
 * @param key the API key that makes it; null for the operator
 * @returns when the link ends
 */
export async function insertPortalSession(
  db: DbClient,
  session: { sellerId: string; key: string | null; user: string | null; readOnly: boolean; link: string },
): Promise<Date> {
  const { rows } = await db.query<{ endsAt: Date }>(
    `insert into portal_session (seller_id, key_id, user_name, read_only, link_digest)
     values ($1, (select id from api_key where digest = $2), $3, $4, $5)
     returning created_at + interval '${LINK_MINUTES} minutes' as "endsAt"`,
    [session.sellerId, session.key && digest(session.key), session.user, session.readOnly, digest(session.link)],
  );
  if (!rows[0]) throw new Error('the insert returned no row');
  return rows[0].endsAt;
}

/** @returns the seller's name, if the link can be used */
export async function findPortalLink(db: DbClient, link: string): Promise<string | undefined> {
  const { rows } = await db.query<{ name: string }>(
    `select s.name from portal_session p join seller s on s.id = p.seller_id where ${IS_NEW}`,
    [digest(link)],
  );
  return rows[0]?.name;
}

/** Uses a link up. @returns false if it cannot be used */
export async function startPortalSession(db: DbClient, link: string, cookie: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update portal_session p set cookie_digest = $2, started_at = now(), last_used_at = now()
     from seller s where s.id = p.seller_id and ${IS_NEW}`,
    [digest(link), digest(cookie)],
  );
  return rowCount === 1;
}

/** Finds the session of a cookie, within 8 hours of its start and 30 minutes of its last use. */
export async function findPortalSession(db: DbClient, cookie: string): Promise<PortalSession | undefined> {
  const { rows } = await db.query<Seller & { sessionId: string; user: string | null; readOnly: boolean }>(
    `with used as (
       update portal_session set last_used_at = now()
       where cookie_digest = $1 and last_used_at between now() - interval '30 minutes' and now() - interval '1 minute')
     select ${SELLER_COLUMNS}, p.id as "sessionId", p.user_name as "user", p.read_only as "readOnly"
     from portal_session p join seller s on s.id = p.seller_id
     where p.cookie_digest = $1 and p.started_at > now() - interval '8 hours'
       and p.last_used_at > now() - interval '30 minutes' and ${IS_ALLOWED}`,
    [digest(cookie)],
  );
  if (!rows[0]) return undefined;
  const { sessionId, user, readOnly, ...seller } = rows[0];
  return { id: sessionId, user, readOnly, seller };
}

export async function endPortalSession(db: DbClient, id: string): Promise<void> {
  await db.query('update portal_session set cookie_digest = null where id = $1', [id]);
}
