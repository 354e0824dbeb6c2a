import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import type { Db, DbClient } from '../db/pool';
import { isThisMachine } from '../domain/web-url';

/** Mails that a process sends at the same time: a slow mail server must not fill the slots of the worker. */
const MAILS_AT_ONCE = 10;
const CONNECT_MS = 10_000;
/** Without any answer of the mail server. */
const SILENT_MS = 20_000;

interface Mail {
  /** Names the event that the mail is about. A repeat has the same Message-ID. */
  id: string;
  account: { sellerId: string; sandbox: boolean };
  /** The order that the mail is about, if it is about one. */
  orderId?: string;
  /** Whom the reader knows. */
  fromName: string;
  to: string;
  replyTo?: string | null;
  subject: string;
  text: string;
  html: string;
}

/** By the kind of account. */
export interface MailAccounts {
  sandbox: boolean;
  live: boolean;
}

/** The mail was not sent. The message quotes neither the mail nor its receiver: Temporal's history keeps it. */
class MailNotSent extends Error {}

interface MailSettings {
  production: boolean;
  mail: { url?: string | undefined; from?: string | undefined };
}

/**
 * The accounts whose mails go somewhere. Mails of sandbox accounts are kept and shown instead of sent, but not in
 * production: their page has no login.
 */
export const mailAccountsOf = ({ production, mail: { url } }: MailSettings): MailAccounts => ({
  sandbox: !production,
  live: url !== undefined,
});

/**
 * Sends a mail, or keeps it for a sandbox account. Resolves also if the mail server refuses the receiver, because it is
 * pointless to try again. @throws MailNotSent
 */
export type SendMail = (mail: Mail) => Promise<void>;

export function createMailer({ mail: { url, from } }: Pick<MailSettings, 'mail'>, db: Db, log: Logger): SendMail {
  const transport = url === undefined ? undefined : createSmtp(url);
  const domain = from?.split('@')[1];
  let sending = 0;
  return async (mail) => {
    const { id, account, orderId, fromName, to, replyTo, subject, text, html } = mail;
    if (account.sandbox) return keepMail(db, mail);
    if (!transport || from === undefined) throw new MailNotSent('MAIL_URL is not set');
    if (sending >= MAILS_AT_ONCE) throw new MailNotSent(`${MAILS_AT_ONCE} other mails are being sent`);
    sending += 1;
    try {
      await transport.sendMail({
        messageId: `<${id}@${domain}>`,
        // Objects, because the text of an address could be read as several.
        from: { name: fromName, address: from },
        to: { name: '', address: to },
        ...(replyTo && { replyTo: { name: '', address: replyTo } }),
        // RFC 3834: no out-of-office replies.
        headers: { 'Auto-Submitted': 'auto-generated' },
        ...{ subject, text, html },
      });
    } catch (error) {
      const reason = describe(error);
      log.warn({ order_id: orderId, mail: id, reason }, 'a mail was not sent');
      if (!isRefusal(error)) throw new MailNotSent(reason);
    } finally {
      sending -= 1;
    }
  };
}

/** Options in the URL's query take precedence. */
function createSmtp(url: string) {
  return createTransport({
    url,
    requireTLS: !isThisMachine(new URL(url).hostname),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
  });
}

type SmtpError = Partial<Record<'code' | 'command', string>> & { responseCode?: number };

/** Without the texts of the library and the server, which quote addresses. */
function describe(error: unknown): string {
  const { code, command, responseCode } = error as SmtpError;
  const what = [code, command, responseCode].filter((part) => part !== undefined).join(' ');
  return `the mail server did not take the mail: ${what}`;
}

function isRefusal(error: unknown): boolean {
  const { command, responseCode = 0 } = error as SmtpError;
  return command === 'RCPT TO' && responseCode >= 500;
}

/** A mail of a sandbox account, which was kept instead of sent. */
export interface SandboxMail extends Pick<Mail, 'id' | 'fromName' | 'to' | 'subject' | 'text' | 'html'> {
  at: Date;
}

const COLUMNS = 'id, at, from_name as "fromName", mail_to as "to", subject, text, html';

/** Keeps a mail, once, and deletes those older than a week. */
async function keepMail(db: DbClient, mail: Mail): Promise<void> {
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
