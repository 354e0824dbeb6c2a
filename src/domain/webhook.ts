/** The delivery state of a webhook event: `pending`, or how the delivery ended. */
export const WEBHOOK_STATES = ['pending', 'delivered', 'exhausted', 'disabled'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

/** A test webhook to send. */
export interface WebhookTestInput {
  sellerId: string;
  webhookId: string;
  url: string;
}
