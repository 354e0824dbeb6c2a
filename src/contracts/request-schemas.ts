import { z } from 'zod';
import { ORDER_STATUSES, PROGRESS_EVENTS } from '../domain/status';
import { type OrderRules, amount, optional, paymentTerms, redirectUrl, text, webhookUrl } from './fields';
import { metaData } from './meta-data';
import { moment, pageQuery, uuidCursor } from './page-query';

/** The body of the create call (spec section 2.3). What a seller's own account asks beyond it: `accountErrors`. */
export function createOrderRequestSchema(rules: OrderRules) {
  return z.strictObject({
    data: z.strictObject({
      amount: amount(rules),
      reference: text(255).meta({
        description:
          'Your own reference, unique among your orders that are not UNSUCCESSFUL. Printable, no blanks around it',
        examples: ['web-100042'],
      }),
      allowed_payment_terms: optional(paymentTerms).meta({ description: 'How the customer may pay; both unless said' }),
      webhook_url: optional(webhookUrl(rules)).meta({
        description:
          'Where changes of the status are sent. Not to private addresses; without a user name; https in production',
      }),
      redirect_url: optional(redirectUrl(rules)).meta({
        description:
          'Where the customer lands after checkout; `orderId` is added to its search parameters. Required where your ' +
          'account has no default. Without a user name; https in production',
      }),
      source: optional(text(100)).meta({
        description: 'What sends the order, such as a plugin',
      }),
      meta_data: optional(metaData).meta({
        description:
          'Whatever you like to have back with the order: at most 16 KiB as JSON, 32 levels deep; numbers beyond 2^53 as ' +
          'text; no NUL, and no key `__proto__`',
      }),
    }),
  });
}
export type CreateOrderRequest = z.infer<ReturnType<typeof createOrderRequestSchema>>['data'];

/** The search parameters of the list of orders. */
export const orderListQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: uuidCursor,
  status: z
    .enum(ORDER_STATUSES)
    .optional()
    .meta({ description: 'Orders in this status only', examples: ['PENDING'] }),
  reference: text(255)
    .optional()
    .meta({ description: 'Orders with exactly this reference: several, where all but one are UNSUCCESSFUL' }),
  created_from: moment.meta({ description: 'Created then or later: ISO 8601; a date stands for its start in UTC' }),
  created_before: moment.meta({ description: 'Created before: ISO 8601; a date stands for its start in UTC' }),
});
export type OrderListQuery = z.infer<typeof orderListQuerySchema>;

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export const idempotencyKeySchema = z
  .string()
  .regex(IDEMPOTENCY_KEY, 'An Idempotency-Key is 1 to 255 printable ASCII characters without blanks.')
  .optional()
  .meta({
    description:
      'Makes the call safe to repeat: 1 to 255 printable ASCII characters without blanks, one for each order',
    examples: ['web-100042-1'],
    param: { id: 'Idempotency-Key' },
  });

/** The body of the progress call. */
export const progressRequestSchema = z
  .strictObject({
    data: z.strictObject({
      event: z.enum(PROGRESS_EVENTS).meta({ description: 'What the customer has come to', examples: ['approved'] }),
      reason: optional(text(500)).meta({ description: 'Why, for people' }),
    }),
  })
  .meta({ id: 'ProgressRequest' });
export type ProgressRequest = z.infer<typeof progressRequestSchema>['data'];
