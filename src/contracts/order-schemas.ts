import { z } from 'zod';
import { ORDER_STATUSES, ACTORS, CHANNELS, PAYMENT_TERMS, UNSUCCESSFUL_REASONS } from '../domain/order';

const documented = (description: string, example?: unknown) => ({
  description,
  ...(example !== undefined && { examples: [example] }),
});

/** Generators without the format choose a 32-bit float, which changes 200000.01 to 200000.02. */
export const DOUBLE = { format: 'double' };

export const text = (description: string, example?: string) => z.string().meta(documented(description, example));
export const whole = (description: string, example?: number) => z.number().int().meta(documented(description, example));
export const pounds = (description: string, example?: number) =>
  z.number().meta({ ...DOUBLE, ...documented(description, example) });

/**
 * A string with known values. An `enum` in the document would make generated clients fail at a value that was added later.
 * The types of the TypeScript client, which are generated from the document, accept any string too, and name the values.
 */
export const openEnum = <T extends string>(
  known: readonly [T, ...T[]],
  description: string,
  example?: T,
): z.ZodType<T | (string & Record<never, never>)> =>
  z
    .enum(known)
    .meta({ ...documented(description, example), override: { enum: undefined, 'x-extensible-enum': known } });

/** The values as text: `` `a`, `b` or `c` ``. */
export function anyOf(values: readonly string[]): string {
  const quoted = values.map((value) => `\`${value}\``);
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}

const ID = '3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34';
const PAY_LINK_ID = '9b2e6f10-58a7-4c3d-8e21-7d4a1b9c0f65';

export const timestamp = z.iso
  .datetime()
  .meta({ description: 'Time in UTC, ISO 8601', examples: ['2026-11-21T09:00:00.000Z'] });
export const orderId = z.uuidv4().meta({ description: 'ID of the order', examples: [ID] });
export const orderReference = text("The seller's reference from the create request", 'web-100042');
export const orderStatus = z.enum(ORDER_STATUSES).meta({
  id: 'OrderStatus',
  description:
    'CREATED: the order was created through the API. PENDING: the customer has started the signup. APPROVED: the ' +
    'customer is approved for the amount. SUCCESSFUL: the customer is funded and the seller is paid. UNSUCCESSFUL: ' +
    'the order was declined, failed, expired or was cancelled. SUCCESSFUL and UNSUCCESSFUL are final.',
  examples: ['PENDING'],
});

export const actor = openEnum(ACTORS, `Who caused the change: ${anyOf(ACTORS)}. New actors may be added.`, 'checkout');
export const channel = openEnum(
  CHANNELS,
  "How the request was made. `api`: this API. `portal`: the seller's page. `hosted_checkout`: the hosted checkout, also " +
    "for decisions of its lender and bank. `cli`: the command line of the operators. `workflow`: the order's workflow " +
    'itself, for its expiry. `temporal`: a message to the workflow that somebody sent through Temporal. New channels may be added.',
  'api',
);

const unsuccessfulReason = openEnum(
  UNSUCCESSFUL_REASONS,
  `Why the order is UNSUCCESSFUL: ${anyOf(UNSUCCESSFUL_REASONS)}; omitted in another status. New reasons may be added.`,
  'declined',
);

const amount = pounds('Amount in pounds (GBP)', 1234.5);
export const paymentTerm = z.enum(PAYMENT_TERMS).meta({
  id: 'PaymentTerm',
  description: 'PAY_NOW: the whole amount now. PAY_LATER: in instalments to the lender.',
  examples: ['PAY_LATER'],
});
const paymentTerms = z
  .array(paymentTerm)
  .meta({ description: 'How the customer may pay', examples: [[...PAYMENT_TERMS]] });
const orderUrl = z.url().meta({
  description: 'URL of the checkout page. Send the customer here.',
  examples: [`https://checkout.example/pay/${PAY_LINK_ID}/`],
});

export const sellerSchema = z
  .object({
    seller_id: z.uuid().meta({
      description: 'ID of the seller, in paths `supplier_uuid`',
      examples: ['c0a8012e-1d5f-4b7a-8f3e-6a2b9d4c5e70'],
    }),
    seller_name: text('Name of the seller', 'My shop'),
  })
  .meta({ id: 'Seller' });

const promotionSchema = z
  .object({
    name: text('Name of the promotion', 'Interest free'),
    interest_free_days: whole('Number of days without interest', 90),
    valid_until: z.iso.date().meta({ description: 'Last day of the promotion, ISO 8601', examples: ['2027-01-31'] }),
  })
  .meta({ id: 'Promotion' });

const pricingSchema = z
  .object({
    representative_interest: pounds('Representative annual interest in percent; 0 means interest-free', 0),
    promotions: z
      .array(promotionSchema)
      .meta({ description: 'Promotions of the seller; empty if there are none', examples: [[]] }),
  })
  .meta({ id: 'PricingConfiguration', description: "Copied from the seller's account when the order was created" });
export type PricingBody = z.infer<typeof pricingSchema>;

/** The response to a create request (spec section 2.1). */
export const createdOrderSchema = z
  .object({
    id: orderId,
    amount,
    reference: orderReference,
    order_url: orderUrl,
    status: orderStatus.meta({ examples: ['CREATED'] }),
    allowed_payment_terms: paymentTerms,
  })
  .meta({ id: 'CreatedOrder', description: 'A new order' });
export type CreatedOrderBody = z.infer<typeof createdOrderSchema>;

const metaDataBody = z.record(z.string(), z.unknown()).meta({ id: 'MetaData', description: 'Custom data of the shop' });

const settlementSchema = z
  .object({
    reference: text('Reference of the payout at the lender or the bank', 'PO-2026-11-1042'),
    fee: pounds('What is deducted from the amount, in pounds (GBP)', 12.35),
    payout_date: z.iso.date().meta({ description: 'When you are paid, ISO 8601', examples: ['2026-11-23'] }),
  })
  .meta({
    id: 'Settlement',
    description:
      'How you are paid for a SUCCESSFUL order; omitted until the lender or the bank has named it, and it is never changed. If ' +
      'it comes after the completion, no webhook is sent, and `updated_at` stays the same.',
  });

/** The order in responses to retrieve, cancel and progress requests, and in webhooks. */
export const orderSchema = z
  .object({
    id: orderId,
    amount,
    reference: orderReference,
    // No format `uri`: RFC 3986 excludes characters that browsers accept in a URL, such as `|`.
    redirect_url: text(
      'Where the customer returns when the order is SUCCESSFUL. Contains the order ID in the query parameter ' +
        '`orderId`.',
      `https://shop.example/thank-you?orderId=${ID}`,
    ),
    cancel_url: text(
      'Where customers who do not complete the order go, if set. Contains the order ID in the query parameter ' +
        '`orderId`.',
      `https://shop.example/cart?orderId=${ID}`,
    ).optional(),
    webhook_url: text('Receives the webhooks of the order, if set', 'https://shop.example/hooks').optional(),
    pricing: pricingSchema,
    pay_link_id: z
      .uuidv4()
      .meta({ description: 'ID of the pay link that `order_url` contains', examples: [PAY_LINK_ID] }),
    seller_name: text('Name of the seller', 'My shop'),
    sandbox: z
      .boolean()
      .optional()
      .meta({ description: 'True for an order of a sandbox account: no money moves. Omitted otherwise.' }),
    status: orderStatus,
    allowed_payment_terms: paymentTerms,
    order_url: orderUrl,
    created_at: timestamp.meta({ description: 'When the order was created' }),
    updated_at: timestamp.meta({ description: 'When the order last changed' }),
    expires_at: timestamp
      .optional()
      .meta({ description: 'When the order becomes UNSUCCESSFUL if it is still open; omitted if it does not expire' }),
    cancelled_at: timestamp.optional().meta({
      description:
        'When the order was first cancelled; omitted if it was not. Cancelling a declined, failed or expired order ' +
        'sets it too.',
    }),
    completed_at: timestamp.optional().meta({ description: 'When the order became SUCCESSFUL; omitted until then' }),
    settlement: settlementSchema.optional(),
    unsuccessful_reason: unsuccessfulReason.optional(),
    payment_term: paymentTerm.optional().meta({
      description: 'How the customer pays, as the checkout last reported it; omitted until then',
    }),
    source: text('The value from the create request, if any', 'woocommerce').optional(),
    meta_data: metaDataBody
      .optional()
      .meta({ description: 'The value from the create request, if any', examples: [{ basket: 'b-17' }] }),
  })
  .meta({ id: 'Order', description: 'The current state of an order' });
export type OrderBody = z.infer<typeof orderSchema>;

const instalmentSchema = z
  .object({
    due_in_months: whole('Months from the agreement until the instalment is due', 1),
    amount: pounds('Amount of the instalment in pounds (GBP)', 411.5),
  })
  .meta({ id: 'Instalment' });

const repaymentPromotion = promotionSchema
  .omit({ valid_until: true })
  .meta({ id: 'RepaymentPromotion', description: 'The promotion that reduces the interest; omitted if there is none' });

export const repaymentExampleSchema = z
  .object({
    amount: pounds('The amount in pounds (GBP)', 1234.5),
    instalments: z.array(instalmentSchema).meta({
      description: 'The repayments, in the order of their due dates',
      examples: [[1, 2, 3].map((month) => ({ due_in_months: month, amount: 411.5 }))],
    }),
    total_amount: pounds('The sum of the instalments in pounds (GBP)', 1234.5),
    annual_interest: pounds('Yearly interest rate in percent; omitted if the lender states none', 0).optional(),
    promotion: repaymentPromotion.optional(),
  })
  .meta({ id: 'RepaymentExample', description: 'The repayments of an order of this amount that is approved today' });
export type RepaymentExampleBody = z.infer<typeof repaymentExampleSchema>;
