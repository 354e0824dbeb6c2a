/** The client of the order service for TypeScript and JavaScript: `import { createClient } from 'order-service/client'`. */
export type { ListedOrderBody as ListedOrder, OrderBody as Order } from '../contracts/order-schemas';
export type { FieldError, ProblemBody as Problem, ProblemCode } from '../contracts/problem-schema';
export type {
  RotatedSecretBody as RotatedWebhookSecret,
  TimelineEntryBody as TimelineEntry,
  WebhookEventBody as WebhookEvent,
  WebhookTestResult,
} from '../contracts/webhook-log-schemas';
export type { OrderStatusChanged, WebhookTest } from '../contracts/webhook-schemas';
export type {
  ClientOptions,
  CreatedOrder,
  NewOrder,
  OrderListQuery,
  OrderServiceClient,
  Page,
  PageQuery,
} from './client';
export { createClient } from './client';
export { ConnectionError, OrderServiceError, WebhookVerificationError } from './errors';
export type { Webhook } from './verify-webhook';
export { verifyWebhook } from './verify-webhook';
