import { createHash } from 'node:crypto';
import { penceToPounds } from '../domain/money';
import {
  type Order,
  type OrderChange,
  type OrderFacts,
  PAYMENT_TERMS,
  type Pricing,
  isStatusChange,
  sequenceOf,
  settlementOf,
  withChange,
} from '../domain/order';
import { withOrderId } from '../domain/web-url';
import type { CreatedOrderBody, OrderBody, PricingBody } from './order-schemas';
import type { CreateOrderRequest } from './request-schemas';
import type { OrderStatusChanged } from './webhook-schemas';

export function orderUrl(order: Pick<OrderFacts, 'payLinkId'>, checkoutBaseUrl: string): string {
  return `${checkoutBaseUrl}/pay/${order.payLinkId}/`;
}

/** What an order takes from its seller's account. */
interface Account extends Pick<OrderFacts, 'sandbox' | 'pricing'> {
  id: string;
  name: string;
  defaultRedirectUrl: string | null;
  defaultCancelUrl: string | null;
}

/** @throws if neither the request nor the account has a redirect URL */
export function toOrderFacts(
  request: CreateOrderRequest,
  account: Account,
  { id, payLinkId }: Pick<OrderFacts, 'id' | 'payLinkId'>,
): OrderFacts {
  const redirectUrl = request.redirect_url ?? account.defaultRedirectUrl;
  const cancelUrl = request.cancel_url ?? account.defaultCancelUrl;
  if (redirectUrl === null) throw new Error('the schema refuses an order without a redirect URL');
  return {
    id,
    sellerId: account.id,
    sellerName: account.name,
    sandbox: account.sandbox,
    amountPence: request.amount,
    reference: request.reference,
    allowedPaymentTerms: request.allowed_payment_terms ?? PAYMENT_TERMS,
    redirectUrl: withOrderId(redirectUrl, id),
    cancelUrl: cancelUrl && withOrderId(cancelUrl, id),
    webhookUrl: request.webhook_url ?? null,
    payLinkId,
    pricing: account.pricing,
    source: request.source ?? null,
    metaData: request.meta_data ?? null,
  };
}

export function toCreatedOrderBody(order: OrderFacts, checkoutBaseUrl: string): CreatedOrderBody {
  return {
    id: order.id,
    amount: penceToPounds(order.amountPence),
    reference: order.reference,
    order_url: orderUrl(order, checkoutBaseUrl),
    status: 'CREATED',
    allowed_payment_terms: [...order.allowedPaymentTerms],
  };
}

export function toOrderBody(order: Order, checkoutBaseUrl: string): OrderBody {
  const settlement = settlementOf(order);
  return {
    id: order.id,
    amount: penceToPounds(order.amountPence),
    reference: order.reference,
    redirect_url: order.redirectUrl,
    ...(order.cancelUrl !== null && { cancel_url: order.cancelUrl }),
    ...(order.webhookUrl !== null && { webhook_url: order.webhookUrl }),
    pricing: toPricingBody(order.pricing),
    pay_link_id: order.payLinkId,
    seller_name: order.sellerName,
    ...(order.sandbox && { sandbox: true as const }),
    status: order.status,
    allowed_payment_terms: [...order.allowedPaymentTerms],
    order_url: orderUrl(order, checkoutBaseUrl),
    created_at: order.createdAt,
    updated_at: order.updatedAt,
    ...(order.expiresAt !== null && { expires_at: order.expiresAt }),
    ...(order.cancelledAt !== null && { cancelled_at: order.cancelledAt }),
    ...(order.completedAt !== null && { completed_at: order.completedAt }),
    ...(settlement && {
      settlement: {
        reference: settlement.reference,
        fee: penceToPounds(settlement.feePence),
        payout_date: settlement.payoutDate,
      },
    }),
    ...(order.unsuccessfulReason !== null && { unsuccessful_reason: order.unsuccessfulReason }),
    ...(order.paymentTerm !== null && { payment_term: order.paymentTerm }),
    ...(order.source !== null && { source: order.source }),
    ...(order.metaData !== null && { meta_data: order.metaData }),
  };
}

/** The webhook for one status change: its body is fixed here and never built again. */
export interface StatusWebhook {
  id: string;
  sequence: number;
  /** The exact text that is signed and sent. */
  body: string;
}

/**
 * The webhook for a change. It shows the order as the change leaves it.
 * @param order before the change
 * @returns undefined if the status stays the same
 */
export function toStatusWebhook(order: Order, change: OrderChange, checkoutBaseUrl: string): StatusWebhook | undefined {
  if (!isStatusChange(change)) return undefined;
  const after = withChange(order, change);
  const sequence = sequenceOf(after.changes, change);
  const body = JSON.stringify(toOrderStatusChanged(change, toOrderBody(after, checkoutBaseUrl), sequence));
  return { id: webhookId(order.id, sequence, body), sequence, body };
}

/**
 * A UUID of version 8 (RFC 9562, 5.8) made from the content: a webhook that a restored backup has lost gets the same id
 * again, and one with other content another id.
 */
function webhookId(orderId: string, sequence: number, body: string): string {
  const hex = createHash('sha256').update(`${orderId}:${sequence}:${body}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

/** @param change a status change, so its `from` is not null */
export function toOrderStatusChanged(change: OrderChange, order: OrderBody, sequence: number): OrderStatusChanged {
  return {
    type: 'order.status_changed',
    timestamp: change.at,
    data: {
      order,
      previous_status: change.from ?? change.to,
      event: change.event,
      sequence,
      actor: change.actor,
      reason: change.reason,
    },
  };
}

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
