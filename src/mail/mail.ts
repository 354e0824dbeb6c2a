export interface Mail {
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
