import { type ChangeRequest, type Order, type OrderHistory, createHistory, decide } from '../../src/domain/order';
import type { OrderEvent, OrderStatus } from '../../src/domain/status';

export const CREATED_AT = '2026-03-01T10:00:00.000Z';

export const ORDER: Order = {
  id: '6f0c2a52-8a3e-4e63-9d0a-52f1f6f0a111',
  sellerId: '0d7f5c3e-3f0e-4f43-8f6c-0a9b3f4c2222',
  sellerName: 'Test Shop Ltd',
  sandbox: false,
  amountPence: 123_450,
  reference: 'order 17',
  allowedPaymentTerms: ['PAY_NOW', 'PAY_LATER'],
  redirectUrl: 'https://shop.example/done?orderId=6f0c2a52-8a3e-4e63-9d0a-52f1f6f0a111',
  cancelUrl: null,
  webhookUrl: 'https://shop.example/hooks',
  payLinkId: '7a1d3b63-9b4f-4f74-8e1b-63a2a7a1b333',
  pricing: { representativeInterest: 0, promotions: [] },
  createdAt: CREATED_AT,
  expiresAt: null,
  version: 1,
  status: 'CREATED',
  cancelledAt: null,
  updatedAt: CREATED_AT,
  unsuccessfulReason: null,
};

/** Returns the time this many minutes after the order was created. */
export function atMinute(minutes: number): string {
  return new Date(Date.parse(CREATED_AT) + minutes * 60_000).toISOString();
}

export function request(event: OrderEvent, rest: Partial<ChangeRequest> = {}): ChangeRequest {
  return { event, actor: event === 'cancel' ? 'seller' : 'checkout', channel: 'api', reason: null, ...rest };
}

/** Returns the history of an order after these events, one minute apart. */
export function historyAfter(...events: OrderEvent[]): OrderHistory {
  return applyEvents(createHistory(ORDER, { actor: 'seller', channel: 'api' }), ...events);
}

/** Returns the history of an order after further events, one minute apart. */
export function applyEvents(history: OrderHistory, ...events: (OrderEvent | ChangeRequest)[]): OrderHistory {
  return events.reduce((before, event) => {
    const change = typeof event === 'string' ? request(event) : event;
    const decision = decide(before, change, atMinute(before.changes.length));
    if (decision.kind !== 'change')
      throw new Error(`${change.event} is classified as ${decision.kind}, not as a change`);
    return decision.next;
  }, history);
}

/** The shortest history that leads to each status. */
export const IN_STATUS: Record<OrderStatus, OrderHistory> = {
  CREATED: historyAfter(),
  PENDING: historyAfter('signup_started'),
  APPROVED: historyAfter('signup_started', 'approved'),
  SUCCESSFUL: historyAfter('signup_started', 'approved', 'completed'),
  UNSUCCESSFUL: historyAfter('signup_started', 'declined'),
};
