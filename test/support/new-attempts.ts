import type { Db } from '../../src/db/pool';
import { type DeliveryLease, leaseDelivery } from '../../src/db/delivery-lease';
import { type AttemptRecord, recordAttempt } from '../../src/db/webhook-attempts';
import type { EventState } from '../../src/db/webhook-events';
import type { OrderEvent } from '../../src/domain/status';
import { insertNewOrder, saveHistory } from './new-orders';
import { applyEvents } from './order-histories';

/** Inserts an order, applies events, and returns it with the ids of its webhook events. */
export async function orderWithWebhooks(db: Db, ...events: OrderEvent[]) {
  const history = applyEvents(await insertNewOrder(db), ...events);
  const pending = await saveHistory(db, history, 60_000);
  return { order: history.order, history, ids: pending.map(({ id }) => id) };
}

/** A first attempt that fails with status 500 and is retried in 5 s. */
const FAILED = {
  step: 1,
  durationMs: 12,
  connectedMs: 3,
  headersMs: 11,
  status: 500,
  error: 'http_status',
  errorDetail: null,
  address: '203.0.113.7',
  responseBody: 'sorry',
  state: 'pending',
  delayMs: 5000,
} as const;

/** The fields of an attempt that delivers the event. */
export const DELIVERED = { status: 200, error: null, state: 'delivered', delayMs: null } as const;
/** The fields of an attempt that gets a 410. */
export const GONE = { status: 410, state: 'disabled', delayMs: null } as const;

type Fields = Partial<Omit<AttemptRecord, 'eventId' | 'lease'>>;

/** Leases the delivery of an event, as for an attempt that begins. */
export async function lease(
  db: Db,
  eventId: string,
  step: number | null = 1,
  leaseMs = 60_000,
): Promise<DeliveryLease> {
  const leased = await leaseDelivery(db, eventId, step, leaseMs);
  if (!leased) throw new Error('another attempt holds the lease, or has been made');
  return leased;
}

/** Records an attempt that was made under a lease. */
export function record(db: Db, eventId: string, held: DeliveryLease, fields: Fields = {}): Promise<EventState> {
  return recordAttempt(db, { eventId, lease: held, ...FAILED, ...fields });
}

/** Leases and records an attempt. */
export async function makeAttempt(db: Db, eventId: string, fields: Fields = {}): Promise<EventState> {
  return record(db, eventId, await lease(db, eventId, fields.step), fields);
}
