import { formatPence } from '../../domain/money';
import type { MailContent } from '../../mail/render-mail';
import type { DueMail } from '../db/mails';
import { offerOf } from '../domain/application';
import { londonDate } from '../domain/calendar';
import type { Checkout } from '../domain/checkout';
import { closedState } from '../domain/checkout-state';
import { agreementStatement } from '../pages/agreement';
import { closedMessage } from '../pages/closed';
import { describePromotion, formatDateTime, formatDeadline } from '../pages/format';
import { SANDBOX_NOTICE, wayBack } from '../pages/layout';
import { costRows, dueDates } from '../pages/offer';
import type { ProviderDetails } from '../pages/provider-details';

interface MailOptions {
  checkout: Checkout;
  providerDetails: ProviderDetails;
  /** Of the order's page. */
  url: string;
  /** Continues on another device. */
  linkUrl: string;
}

type Body = Omit<MailContent, 'footer'>;

const OTHER_DEVICE = 'If you open it on another device than before, we first email you a link to continue there.';

const MAILS: Record<DueMail['kind'], (options: MailOptions, at: Date) => Body> = {
  link: ({ linkUrl }, at) => ({
    subject: 'Your link to continue your order',
    parts: [
      'You can continue your order on the device on which you open this link. It works once, until ' +
        `${formatDateTime(new Date(at.getTime() + 30 * 60_000))}.`,
      'If you did not ask for it, ignore this email. Nothing has changed, and nobody else has this link.',
    ],
    link: { text: 'Continue on this device', url: linkUrl },
  }),
  review: ({ providerDetails: { lenderName, reviewTime }, url }) => ({
    subject: 'Your application is being reviewed',
    parts: [
      `${lenderName} needs more time to decide on your application. A review usually takes ${reviewTime}.`,
      'You do not need to do anything. We write to you when it is decided.',
      OTHER_DEVICE,
    ],
    link: { text: 'See your application', url },
  }),
  decided: (options) => {
    const [subject, ...sentences] = ['Your application has been decided', ...decision(options), OTHER_DEVICE];
    return { subject, parts: sentences, link: { text: 'Continue your order', url: options.url } };
  },
  agreed: ({ checkout, providerDetails, url }) => {
    const { order, application } = checkout;
    const { lenderName, creditAgreementUrl } = providerDetails;
    const { applicant } = application?.submitted ?? {};
    const agreedAt = application?.agreedAt ?? new Date();
    const offer = offerOf(application);
    const promotion = describePromotion(offer, londonDate(agreedAt));
    return {
      subject: 'Your order is complete: your repayments',
      parts: [
        `Thank you. ${order.sellerName} has your order. On ${formatDateTime(agreedAt)} you agreed:`,
        `“${agreementStatement(offer, lenderName, applicant?.businessName)}”`,
        [
          ['Lender', lenderName],
          ['Borrower', `${applicant?.businessName}, company ${applicant?.companyNumber}`],
          ...costRows(order, offer),
          ...(promotion === undefined ? [] : [['Promotion', promotion] as const]),
        ],
        'When you repay:',
        dueDates(offer, londonDate(agreedAt)),
        'The credit agreement explains how to make the payments, what happens if one is late, and how to repay early: ' +
          creditAgreementUrl,
      ],
      link: { text: 'See your order', url },
    };
  },
  closed: ({ checkout, providerDetails }) => {
    const { title, sentences } = closedMessage(closedState(checkout), checkout, providerDetails);
    return {
      subject: 'Your order was not completed',
      parts: [`${title}.`, ...sentences],
      link: { text: `Go to ${checkout.order.sellerName}`, url: wayBack(checkout.order, checkout.branding) },
    };
  },
};

function decision({ checkout: { order, application }, providerDetails: { lenderName } }: MailOptions): string[] {
  switch (application?.decision?.kind) {
    case 'approved':
      return [
        `${lenderName} has approved your application. Nothing is agreed yet.`,
        'To complete your order, read the repayments and agree to them' +
          `${order.expiresAt === null ? '' : ` by ${formatDeadline(order.expiresAt)}`}.`,
      ];
    case 'declined':
      return [
        `${lenderName} has not approved your application. You owe nothing.`,
        'Your order page states the reason, and whether you can pay in another way.',
      ];
    case 'failed':
    case undefined:
      return [
        `${lenderName} could not process your application. This is not a decision about you or your business.`,
        'Check your details and try again.',
      ];
  }
}

/** What the applicant of an order is written. */
export function applicantMail({ kind, at }: DueMail, options: MailOptions): MailContent {
  const { order, branding } = options.checkout;
  const { lenderName } = options.providerDetails;
  const body = MAILS[kind](options, at);
  const help = [branding.helpUrl, branding.contactEmail].filter((one) => one !== null).join(' or ');
  return {
    ...body,
    parts: [
      `Your order at ${order.sellerName}: ${formatPence(order.amountPence)}, order reference ${order.reference}.`,
      ...(order.sandbox ? [SANDBOX_NOTICE] : []),
      ...body.parts,
    ],
    footer:
      `You get this email because an application to ${lenderName} for this order names your address. ` +
      (help === '' ? `If you have questions, contact ${order.sellerName}.` : `Questions about your order: ${help}`),
  };
}
