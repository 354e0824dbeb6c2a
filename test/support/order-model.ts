import fc from 'fast-check';
import type { OrderEvent, OrderStatus } from '../../src/domain/order';

/** What the product's documentation promises of an order, in ten lines: the tests compare the service with it. */
export class OrderModel {
  status: OrderStatus = 'CREATED';
  readonly events: OrderEvent[] = [];
  readonly statuses: OrderStatus[] = [];
  cancelled = false;

  /** @returns whether the event changes the order, repeats a change, or is refused */
  apply(event: OrderEvent): 'change' | 'repeat' | 'refused' {
    if (this.events.includes(event)) return 'repeat';
    const next = { ...STEPS[event], ...(event === 'cancel' && { UNSUCCESSFUL: 'UNSUCCESSFUL' as const }) }[this.status];
    if (!next) return 'refused';
    this.events.push(event);
    if (next !== this.status) this.statuses.push(next);
    this.cancelled ||= event === 'cancel';
    this.status = next;
    return 'change';
  }
}

const END = { CREATED: 'UNSUCCESSFUL', PENDING: 'UNSUCCESSFUL', APPROVED: 'UNSUCCESSFUL' } as const;
const STEPS: Record<OrderEvent, Partial<Record<OrderStatus, OrderStatus>>> = {
  signup_started: { CREATED: 'PENDING' },
  approved: { PENDING: 'APPROVED' },
  declined: { PENDING: 'UNSUCCESSFUL' },
  completed: { APPROVED: 'SUCCESSFUL' },
  ...{ failed: END, expired: END, cancel: END },
};

/**
 * Event sequences in which about half of the events are the next step towards SUCCESSFUL: random ones rarely get far.
 */
export function eventSequences(events: readonly OrderEvent[], maxLength: number): fc.Arbitrary<OrderEvent[]> {
  const steps = ['signup_started', 'approved', 'completed'] as const;
  const event = fc.oneof(
    { weight: 1, arbitrary: fc.constant('next' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...events) },
  );
  return fc.array(event, { maxLength }).map((drawn) => {
    let taken = 0;
    return drawn.map((one) => (one === 'next' ? steps[Math.min(taken++, 2)]! : one));
  });
}
