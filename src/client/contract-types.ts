/**
 * The types of requests and responses. They come from the schemas that the service validates with, so they refer to
 * zod. `npm run pack-client` writes them out in full, and shops need no zod.
 */
import type { z } from 'zod';
import type { ProblemBody } from '../contracts/problem-schema';
import type { createOrderRequestSchema, orderListQuerySchema } from '../contracts/request-schemas';
import type { webhookListQuerySchema } from '../contracts/webhook-request-schemas';

export type { CreatedOrderBody, OrderBody as Order } from '../contracts/order-schemas';
export type { FieldError, ProblemBody as Problem } from '../contracts/problem-schema';
export type { TimelineEntryBody as TimelineEntry } from '../contracts/timeline-schemas';
export type { OrderStatusChanged, WebhookTest } from '../contracts/webhook-schemas';
export type {
  RotatedSecretBody as RotatedWebhookSecret,
  SignedWebhookBody as SignedWebhook,
  WebhookEventBody as WebhookEvent,
  WebhookTestResult,
} from '../contracts/webhook-response-schemas';

export type { ProgressEvent as SimulatedEvent } from '../domain/status';

/** The known codes, and any string, because new codes may be added. */
export type ProblemCode = ProblemBody['code'];

/** `amount` is in pounds. `redirect_url` is required unless the account has a default. */
export type NewOrder = z.input<ReturnType<typeof createOrderRequestSchema>>['data'];

export type WebhookFilter = Pick<z.input<typeof webhookListQuerySchema>, 'state' | 'created_from'>;

export type OrderFilter = Pick<
  z.input<typeof orderListQuerySchema>,
  'status' | 'reference' | 'created_from' | 'created_before'
>;
