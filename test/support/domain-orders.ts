import {
  type OrderEvent,
  type OrderFacts,
  type ChangeRequest,
  type Order,
  type OrderStatus,
  decide,
  creation,
  stateOf,
  withChange,
} from '../../src/domain/order';

export const CREATED_AT = '2026-03-01T10:00:00.000Z';

export const FACTS: OrderFacts = {
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
  source: null,
  metaData: null,
};

/** A new order. */
export const ORDER: Order = {
  ...FACTS,
  ...stateOf([creation(CREATED_AT)], null),
  settlement: null,
};

/** Returns the time this many minutes after an order was created. */
export function atMinute(minutes: number, createdAt = CREATED_AT): string {
  return new Date(Date.parse(createdAt) + minutes * 60_000).toISOString();
}

export function request(event: OrderEvent, rest: Partial<ChangeRequest> = {}): ChangeRequest {
  return { event, actor: event === 'cancel' ? 'seller' : 'checkout', channel: 'api', reason: null, ...rest };
}

/** Returns an order after these events, one minute apart. */
export const orderAfter = (...events: OrderEvent[]): Order => applyEvents(ORDER, ...events);

/** Returns an order after further events, one minute apart. */
export function applyEvents<T extends Order>(order: T, ...events: (OrderEvent | ChangeRequest)[]): T {
  return events.reduce((before, event) => {
    const wanted = typeof event === 'string' ? request(event) : event;
    const change = decide(before, wanted, atMinute(before.changes.length, before.createdAt));
    if (typeof change === 'string') throw new Error(`${wanted.event} is classified as ${change}, not as a change`);
    return withChange(before, change);
  }, order);
}

/** An order in each status, after the fewest changes. */
export const IN_STATUS: Record<OrderStatus, Order> = {
  CREATED: orderAfter(),
  PENDING: orderAfter('signup_started'),
  APPROVED: orderAfter('signup_started', 'approved'),
  SUCCESSFUL: orderAfter('signup_started', 'approved', 'completed'),
  UNSUCCESSFUL: orderAfter('signup_started', 'declined'),
};
