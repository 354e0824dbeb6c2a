/** The order service client for TypeScript and JavaScript: `import { createClient } from 'order-service/client'`. */
export type { OrderBody as Order } from '../contracts/order-schemas';
export type { FieldError, ProblemBody as Problem, ProblemCode } from '../contracts/problem-schema';
export type { OrderStatusChanged, WebhookTest } from '../contracts/webhook-schemas';
export type {
  RotatedSecretBody as RotatedWebhookSecret,
  TimelineEntryBody as TimelineEntry,
  WebhookEventBody as WebhookEvent,
  WebhookTestResult,
} from '../contracts/webhook-log-schemas';
export {
  type ClientOptions,
  type CreatedOrder,
  type NewOrder,
  type OrderListQuery,
  type OrderServiceClient,
  type Page,
  type PageQuery,
  createClient,
} from './client';
export { ConnectionError, OrderServiceError, WebhookVerificationError } from './client-errors';
export { type Webhook, verifyWebhook } from './verify-webhook';
