import type { DbClient } from '../db/pool';
import type { Mail } from './mail';

/** A mail of a sandbox account, which was kept instead of sent. */
export interface SandboxMail extends Pick<Mail, 'id' | 'fromName' | 'to' | 'subject' | 'text' | 'html'> {
  at: Date;
}

const COLUMNS = 'id, at, from_name as "fromName", mail_to as "to", subject, text, html';

/** Keeps a mail, once, and deletes those older than a week. */
export async function keepMail(db: DbClient, mail: Mail): Promise<void> {
  const { id, account, orderId, fromName, to, subject, text, html } = mail;
  await db.query(
    `with deleted as (delete from sandbox_mail where at < now() - interval '7 days')
     insert into sandbox_mail (id, seller_id, order_id, from_name, mail_to, subject, text, html)
     values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing`,
    [id, account.sellerId, orderId, fromName, to, subject, text, html],
  );
}

/** The newest mails, or the one with an id. */
export async function findSandboxMails(db: DbClient, id?: string): Promise<SandboxMail[]> {
  const { rows } = await db.query<SandboxMail>(
    `select ${COLUMNS} from sandbox_mail where $1::text is null or id = $1 order by at desc, id limit 50`,
    [id],
  );
  return rows;
}
