import type { Db } from '../../../src/db/pool';
import type { AttemptRecord } from '../../../src/db/webhook-attempts';
import type { OrderEvent } from '../../../src/domain/status';
import { applyEvents, insertNewOrder, saveHistory } from './new-orders';

/** Inserts an order, applies events, and returns it with the ids of its webhook events. */
export async function orderWithWebhooks(db: Db, ...events: OrderEvent[]) {
  const history = applyEvents(await insertNewOrder(db), ...events);
  const pending = await saveHistory(db, history, 60_000);
  return { order: history.order, ids: pending.map(({ id }) => id) };
}

/** A first attempt that fails with status 500. */
export const attempt = (eventId: string, rest: Partial<AttemptRecord> = {}): AttemptRecord => ({
  eventId,
  step: 1,
  at: new Date(),
  durationMs: 12,
  connectedMs: 3,
  headersMs: 11,
  status: 500,
  error: 'http_status',
  errorDetail: null,
  address: '203.0.113.7',
  responseBody: 'sorry',
  state: 'pending',
  nextAttemptAt: new Date('2026-03-01T10:00:05.000Z'),
  ...rest,
});

/** The fields of an attempt that delivers the event. */
export const DELIVERED = { status: 200, error: null, state: 'delivered', nextAttemptAt: null } as const;
