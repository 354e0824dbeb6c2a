import type { Db } from '../../src/db/pool';
import { type AttemptRecord, findWebhookEvent, recordAttempt } from '../../src/db/webhook-events';
import type { OrderEvent } from '../../src/domain/order';
import type { WebhookState } from '../../src/domain/webhook';
import { insertNewOrder, saveChanges } from './new-orders';
import { applyEvents } from './domain-orders';

/** Inserts an order, applies events, and returns it with the ids of its webhook events. */
export async function orderWithWebhooks(db: Db, ...events: OrderEvent[]) {
  const order = applyEvents(await insertNewOrder(db), ...events);
  const pending = await saveChanges(db, order);
  return { order, ids: pending.map(({ id }) => id) };
}

/** A scheduled attempt that fails with status 500 and is retried in 5 s. */
const FAILED = {
  isScheduled: true,
  durationMs: 12,
  connectedMs: 3,
  headersMs: 11,
  status: 500,
  error: 'http_status',
  errorDetail: null,
  address: '203.0.113.7',
  responseBody: 'sorry',
  hasStaticHeaders: false,
  state: 'pending',
  delayMs: 5000,
} as const;

/** The fields of an attempt that delivers the event. */
export const DELIVERED = { status: 200, error: null, state: 'delivered', delayMs: null } as const;
/** The fields of an attempt that gets a 410. */
export const GONE = { status: 410, state: 'disabled', delayMs: null } as const;

/** Records an attempt. */
export async function makeAttempt(
  db: Db,
  webhookId: string,
  { at = new Date('2026-11-20T10:00:00Z'), ...fields }: Partial<AttemptRecord> & { at?: Date } = {},
): Promise<WebhookState> {
  const event = (await findWebhookEvent(db, webhookId))!;
  return recordAttempt(db, { ...event, url: event.url!, readAt: at }, { ...FAILED, ...fields });
}
