/** Whether a webhook event still has to be delivered, and how it ended otherwise. */
export const WEBHOOK_STATES = ['pending', 'delivered', 'exhausted', 'disabled'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];
