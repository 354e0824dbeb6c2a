import { createHash } from 'node:crypto';
import { describeFailure } from '../src/contracts/webhook-mapper';
import { type EndpointKey, findDueNotice, recordNotice } from '../src/db/endpoint-notices';
import type { Db } from '../src/db/pool';
import { endpointMail } from '../src/mail/endpoint-mail';
import type { MailAccounts, SendMail } from '../src/mail/mailer';
import { renderMail } from '../src/mail/render-mail';

interface NoticeActivityOptions {
  db: Db;
  mails: MailAccounts;
  sendMail: SendMail;
  /** The address of a seller's contact; null if the account has none. */
  contactOf: (sellerId: string) => Promise<string | null>;
  /** Of the guide to webhooks. */
  docsUrl: string;
}

export type NoticeActivities = ReturnType<typeof createNoticeActivities>;

export function createNoticeActivities({ db, mails, sendMail, contactOf, docsUrl }: NoticeActivityOptions) {
  return {
    /** Tells a seller's contact what is due about an endpoint. A repeat after a crash has the same Message-ID. */
    async tellSeller(endpoint: EndpointKey): Promise<void> {
      for (let due; (due = await findDueNotice(db, mails, endpoint));) {
        const { sellerId, origin, sandbox, turn, at, failure } = due;
        const to = await contactOf(sellerId);
        const name = createHash('sha256').update(`${sellerId} ${origin}`).digest('hex').slice(0, 32);
        if (to !== null)
          await sendMail({
            id: `${turn}.${at.getTime()}.${name}`,
            account: { sellerId, sandbox },
            fromName: 'Order service',
            to,
            ...renderMail(endpointMail({ ...due, lastError: failure && describeFailure(failure) }, docsUrl)),
          });
        await recordNotice(db, due);
      }
    },
  };
}
