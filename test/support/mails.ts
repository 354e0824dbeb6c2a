import { SMTPServer } from 'smtp-server';
import type { SandboxMail } from '../../src/mail/mailer';
import type { Customer } from './checkout';
import type { SharedStack } from './stack';
import { until } from './until';

/** The mails that were kept for an order of a sandbox account, oldest first. */
export async function keptMails({ db }: Pick<SharedStack, 'db'>, orderId: string): Promise<SandboxMail[]> {
  const { rows } = await db.query<SandboxMail>(
    'select id, from_name as "fromName", mail_to as "to", subject, text, html from sandbox_mail where order_id = $1 order by at',
    [orderId],
  );
  return rows;
}

/** The kind of a mail, as its id or Message-ID states it. */
export const kindOf = ({ id }: { id: string }): string => id.replace(/^<?(\w+)\..*/, '$1');

/** Asks for a link by email in another browser, and returns the link's part after the order's URL. */
export async function requestLink(stack: SharedStack, orderId: string, browser: Customer): Promise<string> {
  const links = async (): Promise<SandboxMail[]> =>
    (await keptMails(stack, orderId)).filter((mail) => kindOf(mail) === 'link');
  const before = (await links()).length;
  await browser.look();
  await browser.submit('continue', {});
  const mail = await until(async () => (await links())[before], 'the link is sent');
  return linkIn(mail);
}

export const linkIn = ({ text }: { text: string }): string => /\/(continue\/[\w-]+)\//.exec(text)![1]!;

/** Opens a link in a browser and uses its button. */
export async function useLink(browser: Customer, link: string) {
  await browser.look(`${link}/`);
  return browser.submit(link, {});
}

/** A mail as an SMTP server received it. */
export interface ReceivedMail {
  id: string;
  to: string[];
  headers: Record<string, string>;
  text: string;
  html: string;
}

export interface MailServer {
  /** All that was accepted. */
  mails: ReceivedMail[];
  /** Each receiver that was named, accepted or not. */
  receivers: string[];
  stop(): Promise<void>;
}

interface MailServerOptions {
  port: number;
  /** Waits before the server answers the end of a mail. */
  beforeAnswer?: (mail: ReceivedMail) => Promise<void>;
  /** The SMTP code with which it refuses each receiver. */
  refuseWith?: number;
}

/** An SMTP server that keeps what it receives. */
export async function startMailServer({ port, beforeAnswer, refuseWith }: MailServerOptions): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const receivers: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo({ address }, _session, done) {
      receivers.push(address);
      if (refuseWith === undefined) done();
      else done(Object.assign(new Error(`no mailbox ${address}`), { responseCode: refuseWith }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const mail = parseMail(
          Buffer.concat(chunks).toString(),
          session.envelope.rcptTo.map(({ address }) => address),
        );
        mails.push(mail);
        void Promise.resolve(beforeAnswer?.(mail)).then(() => done());
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  // Clients that die.
  server.removeAllListeners('error').on('error', () => undefined);
  return {
    mails,
    receivers,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

function parseMail(source: string, to: string[]): ReceivedMail {
  const [head = ''] = source.split('\r\n\r\n');
  const headers = Object.fromEntries(
    head
      .replace(/\r\n[ \t]+/g, ' ')
      .split('\r\n')
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  ) as Record<string, string>;
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1] ?? '';
  const part = (type: string): string => {
    const found = source.split(`--${boundary}`).find((one) => one.includes(`Content-Type: ${type}`)) ?? '';
    const body = found.slice(found.indexOf('\r\n\r\n') + 4);
    if (/Content-Transfer-Encoding: base64/i.test(found)) return Buffer.from(body, 'base64').toString();
    const bytes = body
      .replace(/=\r\n/g, '')
      .replace(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    return /quoted-printable/i.test(found) ? Buffer.from(bytes, 'latin1').toString() : body;
  };
  return { id: headers['message-id'] ?? '', to, headers, text: part('text/plain'), html: part('text/html') };
}
