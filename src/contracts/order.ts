import { z } from 'zod';
import { penceToPounds } from '../domain/money';
import type { Order, Pricing } from '../domain/order';
import { PAYMENT_TERMS } from '../domain/order';
import { ORDER_STATUSES } from '../domain/status';

const amount = z.number().meta({ description: 'GBP, at most two decimals', example: 1234.5 });
const timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });
const paymentTerms = z.array(z.enum(PAYMENT_TERMS));
const metaData = z.record(z.string(), z.unknown());

export const pricingSchema = z
  .object({
    representative_interest: z.number(),
    promotions: z.array(
      z.object({ name: z.string(), interest_free_days: z.number().int(), valid_until: z.iso.date() }),
    ),
  })
  .meta({ id: 'PricingConfiguration' });

/** What the create call answers (spec section 2.1). */
export const createdOrderSchema = z
  .object({
    id: z.uuidv4(),
    amount,
    reference: z.string(),
    order_url: z.url(),
    status: z.enum(ORDER_STATUSES),
    allowed_payment_terms: paymentTerms,
  })
  .meta({ id: 'CreatedOrder' });
export type CreatedOrderBody = z.infer<typeof createdOrderSchema>;

/** What retrieve, cancel and progress answer, and what a webhook carries. */
export const orderSchema = z
  .object({
    id: z.uuidv4(),
    amount,
    reference: z.string(),
    redirect_url: z.url(),
    pricing: pricingSchema,
    pay_link_id: z.uuidv4(),
    seller_name: z.string(),
    status: z.enum(ORDER_STATUSES),
    allowed_payment_terms: paymentTerms,
    order_url: z.url(),
    cancelled_at: timestamp.optional(),
    source: z.string().optional(),
    meta_data: metaData.optional(),
  })
  .meta({ id: 'Order' });
export type OrderBody = z.infer<typeof orderSchema>;

/** An order in a list: as retrieve answers it, and when it was created. */
export const listedOrderSchema = orderSchema.extend({ created_at: timestamp }).meta({ id: 'ListedOrder' });
export type ListedOrderBody = z.infer<typeof listedOrderSchema>;

/** What a shop plugin sent along and gets back; it stays in Postgres. */
export interface Attachments {
  source: string | null;
  metaData: Record<string, unknown> | null;
}

export function orderUrl(order: Pick<Order, 'payLinkId'>, checkoutBaseUrl: string): string {
  return `${checkoutBaseUrl}/pay/${order.payLinkId}/`;
}

export function toCreatedOrderBody(order: Order, checkoutBaseUrl: string): CreatedOrderBody {
  return {
    id: order.id,
    amount: penceToPounds(order.amountPence),
    reference: order.reference,
    order_url: orderUrl(order, checkoutBaseUrl),
    status: order.status,
    allowed_payment_terms: [...order.allowedPaymentTerms],
  };
}

export function toOrderBody(order: Order, { source, metaData }: Attachments, checkoutBaseUrl: string): OrderBody {
  return {
    id: order.id,
    amount: penceToPounds(order.amountPence),
    reference: order.reference,
    redirect_url: order.redirectUrl,
    pricing: toPricingBody(order.pricing),
    pay_link_id: order.payLinkId,
    seller_name: order.sellerName,
    status: order.status,
    allowed_payment_terms: [...order.allowedPaymentTerms],
    order_url: orderUrl(order, checkoutBaseUrl),
    ...(order.cancelledAt !== null && { cancelled_at: order.cancelledAt }),
    ...(source !== null && { source }),
    ...(metaData !== null && { meta_data: metaData }),
  };
}

type PricingBody = z.infer<typeof pricingSchema>;

export function toPricing({ representative_interest, promotions }: PricingBody): Pricing {
  return {
    representativeInterest: representative_interest,
    promotions: promotions.map(({ name, interest_free_days, valid_until }) => ({
      name,
      interestFreeDays: interest_free_days,
      validUntil: valid_until,
    })),
  };
}

export function toPricingBody({ representativeInterest, promotions }: Pricing): PricingBody {
  return {
    representative_interest: representativeInterest,
    promotions: promotions.map(({ name, interestFreeDays, validUntil }) => ({
      name,
      interest_free_days: interestFreeDays,
      valid_until: validUntil,
    })),
  };
}
