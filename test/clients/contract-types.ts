// The client's types are written for shops, and the service's come from its schemas. `npm run typecheck` fails here if
// they differ.
import type { z } from 'zod';
import type * as client from '../../packages/client/src/contract-types';
import type { CreatedOrderBody, OrderBody, RepaymentExampleBody } from '../../src/contracts/order-schemas';
import type { ProblemBody } from '../../src/contracts/problem';
import type {
  createOrderRequestSchema,
  orderListQuerySchema,
  simulateRequestSchema,
} from '../../src/contracts/request-schemas';
import type {
  TimelineEntryBody,
  RotatedSecretBody,
  SignedWebhookBody,
  WebhookEventBody,
  WebhookHeadersBody,
  WebhookSelectionBody,
  WebhookTestResult,
  OrderStatusChanged,
  WebhookTest,
} from '../../src/contracts/webhook-schemas';
import type {
  resendWebhooksRequestSchema,
  webhookHeadersRequestSchema,
  webhookListQuerySchema,
} from '../../src/contracts/webhook-request-schemas';

/** Interfaces that extend others as one object, and arrays that callers may pass read-only, in all depths. */
type Flat<T> = T extends string | number | boolean | null | undefined
  ? T
  : { -readonly [Key in keyof T]: Flat<T[Key]> };
/** Two conditional types are assignable only if the types after `extends` are identical. */
type Same<One, Other> =
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
  (<T>() => T extends Flat<One> ? 1 : 2) extends <T>() => T extends Flat<Other> ? 1 : 2 ? [] : ['the types differ'];

/** Compiles without arguments only if the types are the same. */
declare function same<One, Other>(...difference: Same<One, Other>): void;

same<client.NewOrder, z.input<ReturnType<typeof createOrderRequestSchema>>['data']>();
same<client.CreatedOrderBody, CreatedOrderBody>();
same<client.Order, OrderBody>();
type OrderListInput = z.input<typeof orderListQuerySchema>;
// The client takes pounds as a number.
same<client.OrderFilter, Omit<OrderListInput, 'limit' | 'cursor' | 'amount'> & { amount?: number | undefined }>();
same<client.WebhookFilter, Omit<z.input<typeof webhookListQuerySchema>, 'limit' | 'cursor'>>();
same<client.TimelineEntry, TimelineEntryBody>();
same<client.WebhookEvent, WebhookEventBody>();
same<client.SignedWebhook, SignedWebhookBody>();
same<client.WebhookTestResult, WebhookTestResult>();
same<client.WebhookSelection, z.input<typeof resendWebhooksRequestSchema>['data']>();
same<client.ResentWebhooks, WebhookSelectionBody>();
same<client.NewWebhookHeaders, z.input<ReturnType<typeof webhookHeadersRequestSchema>>['data']>();
same<client.WebhookHeaders, WebhookHeadersBody>();
same<client.RepaymentExample, RepaymentExampleBody>();
same<client.RotatedWebhookSecret, RotatedSecretBody>();
same<client.OrderStatusChanged, OrderStatusChanged>();
same<client.WebhookTest, WebhookTest>();
same<client.SimulatedEvent, z.input<typeof simulateRequestSchema>['data']['event']>();
same<Omit<client.Problem, 'errors'>, Omit<ProblemBody, 'errors'>>();
same<Omit<client.FieldError, 'code'>, Omit<ProblemBody['errors'][number], 'code'>>();
