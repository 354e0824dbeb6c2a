import { type LenderActivityOptions, createLenderActivities } from './lender-activities';
import { type OrderActivityOptions, createOrderActivities } from './order-activities';
import { type WebhookActivityOptions, createWebhookActivities } from './webhook-activities';

export type { LenderResponse, Lenders } from './lender-activities';
export type { QueuedWebhook, SavedOrder } from './order-activities';
export type { WebhookResult } from './webhook-activities';
export type { RequestedResend, WebhookRef } from '../src/db/webhook-events';
export type { WebhookTestAttempt } from '../src/webhooks/attempt';

type ActivityOptions = OrderActivityOptions & WebhookActivityOptions & LenderActivityOptions;

export type Activities = ReturnType<typeof createActivities>;

/** The side effects of the workflows: thin adapters. Each is safe to repeat if its result was lost. */
export function createActivities(options: ActivityOptions) {
  return {
    ...createOrderActivities(options),
    ...createWebhookActivities(options),
    ...createLenderActivities(options),
  };
}
