/** The order service client for TypeScript and JavaScript: `import { createClient } from 'order-service-client'`. */
export type * from './contract-types';
export {
  type ClientOptions,
  type CreatedOrder,
  type OrderListQuery,
  type OrderServiceClient,
  type Page,
  type PageQuery,
  createClient,
} from './client';
export { ConnectionError, OrderServiceError, type ProblemCode, WebhookVerificationError } from './client-errors';
export { type Webhook, verifyWebhook } from './verify-webhook';
