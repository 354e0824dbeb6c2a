import { z } from 'zod';
import { PAYMENT_TERMS } from '../domain/order';
import { ACTORS, ORDER_STATUSES } from '../domain/status';

const ID = '3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34';
const PAY_LINK_ID = '9b2e6f10-58a7-4c3d-8e21-7d4a1b9c0f65';

/** A point in time on the wire. */
export const timestamp = z.iso
  .datetime()
  .meta({ description: 'ISO 8601, UTC', examples: ['2026-11-21T09:00:00.000Z'] });
export const orderId = z.uuidv4().meta({ description: 'Id of the order', examples: [ID] });
export const orderReference = z
  .string()
  .meta({ description: 'As the seller gave it when the order was created', examples: ['web-100042'] });
export const orderStatus = z.enum(ORDER_STATUSES).meta({
  id: 'OrderStatus',
  description:
    'CREATED: made through the API. PENDING: the customer has started the signup. APPROVED: the customer is approved ' +
    'for the amount. SUCCESSFUL: the customer is funded and the seller is paid. UNSUCCESSFUL: declined, failed, ' +
    'expired or cancelled. The last two are final.',
  examples: ['CREATED'],
});
export const actor = z.enum(ACTORS).meta({ description: 'Who brought it about', examples: ['checkout'] });

const amount = z.number().meta({ description: 'Pounds (GBP), at most two decimals', examples: [1234.5] });
const paymentTerms = z
  .array(z.enum(PAYMENT_TERMS))
  .meta({ description: 'How the customer may pay', examples: [[...PAYMENT_TERMS]] });
const landingUrl = z.url().meta({
  description: 'Where to send the customer to check out',
  examples: [`https://checkout.example/pay/${PAY_LINK_ID}/`],
});

const promotionSchema = z
  .object({
    name: z.string().meta({ examples: ['Interest free'] }),
    interest_free_days: z
      .number()
      .int()
      .meta({ description: 'Days without interest', examples: [90] }),
    valid_until: z.iso.date().meta({ description: 'Last day, ISO 8601', examples: ['2027-01-31'] }),
  })
  .meta({ id: 'Promotion' });

export const pricingSchema = z
  .object({
    representative_interest: z.number().meta({ description: 'Per cent; 0 without a promotion', examples: [0] }),
    promotions: z.array(promotionSchema).meta({ description: 'Empty where there are none', examples: [[]] }),
  })
  .meta({ id: 'PricingConfiguration', description: "Copied from the seller's account when the order was created" });
export type PricingBody = z.infer<typeof pricingSchema>;

/** What the create call answers (spec section 2.1). */
export const createdOrderSchema = z
  .object({
    id: orderId,
    amount,
    reference: orderReference,
    order_url: landingUrl,
    status: orderStatus,
    allowed_payment_terms: paymentTerms,
  })
  .meta({ id: 'CreatedOrder', description: 'A new order' });
export type CreatedOrderBody = z.infer<typeof createdOrderSchema>;

/** What retrieve, cancel and progress answer, and what a webhook carries. */
export const orderSchema = z
  .object({
    id: orderId,
    amount,
    reference: orderReference,
    // No format `uri`: a URL as browsers have it may hold characters that RFC 3986 knows only escaped, such as `|`.
    redirect_url: z.string().meta({
      description: 'Where the customer lands after checkout (WHATWG URL); carries the id of the order as `orderId`',
      examples: [`https://shop.example/thank-you?orderId=${ID}`],
    }),
    pricing: pricingSchema,
    pay_link_id: z
      .uuidv4()
      .meta({ description: 'Id of the pay link that `order_url` leads to', examples: [PAY_LINK_ID] }),
    seller_name: z.string().meta({ description: 'Name of the seller', examples: ['My shop'] }),
    status: orderStatus,
    allowed_payment_terms: paymentTerms,
    order_url: landingUrl,
    cancelled_at: timestamp.optional().meta({ description: 'When it was cancelled; left out while it is not' }),
    source: z
      .string()
      .optional()
      .meta({ description: 'As it was sent, if it was', examples: ['woocommerce'] }),
    meta_data: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'As it was sent, if it was', examples: [{ basket: 'b-17' }] }),
  })
  .meta({ id: 'Order', description: 'An order as it is now' });
export type OrderBody = z.infer<typeof orderSchema>;

/** An order in a list: as retrieve answers it, and when it was created. */
export const listedOrderSchema = orderSchema
  .extend({ created_at: timestamp.meta({ description: 'When it was created' }) })
  .meta({ id: 'ListedOrder', description: 'An order in a list' });
export type ListedOrderBody = z.infer<typeof listedOrderSchema>;
