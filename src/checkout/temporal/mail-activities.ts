import type { MailAccounts, SendMail } from '../../mail/mailer';
import { renderMail } from '../../mail/render-mail';
import type { Db } from '../../db/pool';
import { findDueMail, recordMailed } from '../db/mails';
import type { Checkout } from '../domain/checkout';
import { applicantMail } from '../mail/applicant-mails';
import { linkToken } from '../mail/continue-link';
import type { OrderCore } from '../order-core';
import type { ProviderDetailsOf } from '../pages/provider-details';

interface MailActivityOptions {
  db: Db;
  core: Pick<OrderCore, 'find'>;
  readCheckout: (payLinkId: string) => Promise<Checkout>;
  checkoutBaseUrl: string;
  mails: MailAccounts;
  sendMail: SendMail;
  providerDetailsOf: ProviderDetailsOf;
  /** Reads the secret that all processes share. */
  readSecret: () => Promise<string>;
}

export type MailActivities = ReturnType<typeof createMailActivities>;

/** The mails to applicants. Addresses, names and links are read here, so that Temporal does not hold them. */
export function createMailActivities(options: MailActivityOptions) {
  const { db, core, readCheckout, checkoutBaseUrl, mails, sendMail, providerDetailsOf, readSecret } = options;
  return {
    /**
     * Sends the mails that are due to the applicant of an order. Each is recorded after it was sent: if the worker dies in
     * between, it is sent again, with the same Message-ID.
     */
    async sendDueMails(orderId: string): Promise<void> {
      for (let due = await findDueMail(db, orderId, mails); due; due = await findDueMail(db, orderId, mails)) {
        const order = await core.find(orderId);
        const checkout = order && (await readCheckout(order.payLinkId));
        const { application, branding } = checkout ?? {};
        // Its data was deleted meanwhile.
        if (!order || !checkout || !application?.submitted) return;
        const url = `${checkoutBaseUrl}/pay/${order.payLinkId}/`;
        const linkUrl = `${url}continue/${linkToken(await readSecret(), application, due.at)}/`;
        const providerDetails = providerDetailsOf(order);
        await sendMail({
          id: `${due.kind}.${due.key}.${orderId}`,
          account: order,
          orderId,
          fromName: order.sellerName,
          to: application.submitted.applicant.email,
          replyTo: branding?.contactEmail ?? null,
          ...renderMail(applicantMail(due, { checkout, providerDetails, url, linkUrl })),
        });
        await recordMailed(db, orderId, due);
      }
    },
  };
}
