import type { EndpointTurn } from '../domain/webhook';
import type { MailContent } from './render-mail';

/** What the contact of a seller is told of an endpoint. */
interface EndpointNews {
  turn: EndpointTurn;
  sellerName: string;
  sandbox: boolean;
  origin: string;
  /** When the endpoint began to fail, was last called, or was last told to fail. */
  at: Date;
  /** A sentence; null if the endpoint answers. */
  lastError: string | null;
}

const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
const when = (at: Date): string => `${TIME.format(at)} UTC`;

const WAITING =
  'Webhooks are repeated for days, and orders do not wait for them. When your server accepts webhooks again, those that are ' +
  'still waiting arrive by themselves. Resend those that are no longer repeated, on your webhooks page or through the API.';

const TEXTS: Record<EndpointTurn, (news: EndpointNews) => Pick<MailContent, 'subject' | 'parts'>> = {
  failing: ({ origin, at, lastError }) => ({
    subject: `Webhooks to ${origin} have failed for an hour`,
    parts: [`No webhook to ${origin} has been accepted since ${when(at)}. ${lastError}`, WAITING],
  }),
  exhausted: ({ origin, at, lastError }) => ({
    subject: `A webhook to ${origin} is no longer repeated`,
    parts: [`The last of its attempts failed on ${when(at)}. ${lastError}`, WAITING],
  }),
  answering: ({ origin, at }) => ({
    subject: `${origin} accepts webhooks again`,
    parts: [
      `We wrote to you on ${when(at)} that webhooks to ${origin} failed. They are accepted again. Those that are still ` +
        'waiting arrive now. Resend those that are no longer repeated, on your webhooks page or through the API.',
    ],
  }),
};

/** @param docsUrl of the guide to webhooks */
export function endpointMail(news: EndpointNews, docsUrl: string): MailContent {
  const { turn, sellerName, sandbox } = news;
  const { subject, parts } = TEXTS[turn](news);
  return {
    subject,
    parts: [`${sandbox ? 'Sandbox account' : 'Account'}: ${sellerName}`, ...parts],
    link: { text: 'How webhooks are repeated and resent', url: docsUrl },
    footer: `You get this email because your address is the contact of the account ${sellerName}.`,
  };
}
