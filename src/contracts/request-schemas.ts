import { z } from 'zod';
import { formatPence, penceToPounds } from '../domain/money';
import { MAX_EXPIRY_DAYS, MAX_REASON_LENGTH, PROGRESS_EVENTS } from '../domain/order';
import {
  type OrderRules,
  amount,
  optional,
  paymentTerms,
  redirectUrl,
  reference,
  printableText,
  refuse,
  webhookUrl,
  metaData,
  moment,
  pageQuery,
  queryAmount,
  QUERY_AMOUNT,
  time,
  uuidCursor,
} from './fields';
import { orderStatus, paymentTerm } from './order-schemas';

const DAY_MS = 86_400_000;

/** Spec section 2.3. */
export function createOrderRequestSchema(rules: OrderRules) {
  const { maxAmountPence: limit = null, needsRedirectUrl = false } = rules.account ?? {};
  return z.strictObject({
    data: z.strictObject({
      amount: amount(rules).superRefine((pence, context) => {
        if (limit === null || pence <= limit) return;
        refuse(context, 'too_big', `must be at most ${formatPence(limit)}, the limit of your account`);
      }),
      reference: reference.meta({
        description:
          'Your reference for the order, unique among your orders that are not UNSUCCESSFUL. Visible characters ' +
          'and single spaces, without surrounding whitespace. Stored in the Unicode normalization form NFC. Customers ' +
          'see it: use a short order number, because a bank statement has room for 18 characters.',
        examples: ['web-100042'],
      }),
      allowed_payment_terms: optional(paymentTerms).meta({
        description: 'How the customer may pay. Default: both.',
      }),
      webhook_url: optional(webhookUrl(rules)).meta({
        description:
          'Receives a webhook for each status change after CREATED. Without it, none is sent. Private addresses and ' +
          'user names are not allowed. Must be https if the service runs in production, also for a sandbox ' +
          'account.',
      }),
      redirect_url: optional(redirectUrl(rules))
        .superRefine((url, context) => {
          if (needsRedirectUrl && url === undefined)
            refuse(context, 'required', 'is required: your account has no default redirect URL');
        })
        .meta({
          description:
            'Where the customer returns when the order is SUCCESSFUL, with the query parameter `orderId` added: a ' +
            'URL that has one already is refused. Required if your account has no default. User names are not allowed. Must be https if the service runs ' +
            'in production, also for a sandbox account.',
        }),
      cancel_url: optional(redirectUrl(rules)).meta({
        description:
          'Where customers go who do not complete the order: declined, failed, cancelled, expired, or leaving the ' +
          "checkout. The query parameter `orderId` is added. Default: the account's setting, else the shop's front " +
          'page. The rules are those of `redirect_url`.',
      }),
      expires_at: optional(time())
        .superRefine((expiresAt, context) => {
          const inMs = expiresAt === undefined ? NaN : Date.parse(expiresAt) - Date.now();
          if (inMs <= 0) refuse(context, 'too_small', 'must be in the future');
          if (inMs > MAX_EXPIRY_DAYS * DAY_MS)
            refuse(context, 'too_big', `must be at most ${MAX_EXPIRY_DAYS} days from now`);
        })
        .meta({
          description:
            'When the order becomes UNSUCCESSFUL if it is still open: in the future, at most 366 days ahead. Default: as ' +
            'the operator has configured.',
        }),
      source: optional(printableText(100)).meta({
        description: 'The client that creates the order, such as the name and version of a shop plugin',
      }),
      meta_data: optional(metaData).meta({
        description:
          'Custom data, returned with the order: the same JSON values, maybe with another order of keys. Numbers are ' +
          'doubles. At most 16 KiB of JSON without spaces, and 32 levels deep. An empty array means an empty object, and ' +
          'is returned as `{}`. NUL characters, the key `__proto__` and numbers beyond a double are not allowed.',
      }),
    }),
  });
}
export type CreateOrderRequest = z.infer<ReturnType<typeof createOrderRequestSchema>>['data'];

export const orderListQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: uuidCursor,
  status: orderStatus.optional().meta({ description: 'Only orders with this status', examples: ['PENDING'] }),
  reference: reference.optional().meta({
    description: 'Only orders with exactly this reference. At most one of them is not UNSUCCESSFUL.',
  }),
  amount: queryAmount()
    .optional()
    .meta({ description: 'Only orders of exactly this amount, in pounds (GBP)', override: QUERY_AMOUNT }),
  created_from: moment.meta({
    description:
      'Only orders created at this time or later. ISO 8601; a date means its start in UTC. To poll, pass the newest ' +
      '`created_at` that you have seen: no order is missed. An order that was created within the last moments may be ' +
      'listed a moment later.',
  }),
  created_before: moment.meta({
    description: 'Only orders created before this time. ISO 8601; a date means its start in UTC.',
  }),
  updated_from: moment.meta({
    description:
      'Only orders that changed at this time or later, the last change first. ISO 8601; a date means its start in UTC. To ' +
      'poll, pass the newest `updated_at` that you have seen: no change is missed. An order that is listed again with the ' +
      'same `updated_at` has not changed.',
  }),
  updated_before: moment.meta({
    description:
      'Only orders whose last change was saved before this time, the last change first. ISO 8601; a date means its start in UTC.',
  }),
  completed_from: moment.meta({
    description:
      'Only orders that became SUCCESSFUL at this time or later, the last one first. ISO 8601; a date means its start in UTC.',
  }),
  completed_before: moment.meta({
    description:
      'Only orders that became SUCCESSFUL before this time, the last one first. ISO 8601; a date means its start in UTC.',
  }),
});
export type OrderListQuery = z.infer<typeof orderListQuerySchema>;

export const idempotencyKeySchema = z
  .string()
  .regex(/^[!-~]{1,255}$/)
  .optional()
  .meta({
    description:
      'Makes the request safe to repeat. 1 to 255 printable ASCII characters without spaces. Use one key for each ' +
      'payment attempt: repeat a request with the same key, and use a new key if the cart changes or its order is ' +
      'UNSUCCESSFUL.',
    examples: ['web-100042-1'],
    param: { id: 'Idempotency-Key' },
  });

const progressEvent = z
  .enum(PROGRESS_EVENTS)
  .meta({ id: 'ProgressEvent', description: "The customer's latest step", examples: ['approved'] });

const simulatedEvent = z.enum([...PROGRESS_EVENTS, 'expired']).meta({
  id: 'SimulatedEvent',
  description: "The customer's latest step, or the expiry of the order",
  examples: ['expired'],
});

const ofEvent = <T extends z.ZodType>(event: T) =>
  z.strictObject({
    data: z.strictObject({
      event,
      reason: optional(printableText(MAX_REASON_LENGTH)).meta({ description: 'Human-readable reason for the event' }),
      payment_term: optional(paymentTerm).meta({ description: 'How the customer pays, once it is known' }),
    }),
  });

export const progressRequestSchema = ofEvent(progressEvent);
export const simulateRequestSchema = ofEvent(simulatedEvent);

/** The amount in a query; parsed to pence. */
export function repaymentExampleQuerySchema({ maxAmountPence }: Pick<OrderRules, 'maxAmountPence'>) {
  const amount = queryAmount(maxAmountPence).meta({
    description: 'Amount in pounds (GBP), as of an order',
    override: { ...QUERY_AMOUNT, maximum: penceToPounds(maxAmountPence) },
  });
  return z.strictObject({ amount });
}
