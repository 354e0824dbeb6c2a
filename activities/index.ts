import type { createOrderActivities } from './order-activities';
import type { createResendActivities } from './resend-activities';
import type { createWebhookActivities } from './webhook-activities';

export type { WebhookRef } from '../src/db/webhook-events';
export type { WebhookTestAttempt } from '../src/webhooks/attempt';

/** The side effects of the workflows: thin adapters. Each is safe to repeat if its result was lost. */
export type OrderActivities = ReturnType<typeof createOrderActivities>;
export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
export type ResendActivities = ReturnType<typeof createResendActivities>;
