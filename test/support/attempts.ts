import type { Db } from '../../src/db/pool';
import { DELAYS, TIMEOUT_MS } from './failing-responses';
import type { Kind } from './failing-receivers';

/** Allowed difference between two clocks that are read one after the other and rounded. */
export const ROUNDING_MS = 20;

interface AttemptRow {
  attempt: number;
  at: Date;
  duration_ms: number;
  status: number | null;
  error: string | null;
  error_detail: string | null;
  address: string | null;
  response_body: string;
  next_attempt_at: Date | null;
}

interface EventRow {
  id: string;
  sequence: number;
  state: string;
  attempts: number;
  next_attempt_at: Date | null;
  created_at: Date;
}

/** Returns an order's webhook events, each with its attempts. */
export async function webhooksOf(db: Db, orderId: string): Promise<{ event: EventRow; attempts: AttemptRow[] }[]> {
  const { rows: events } = await db.query<EventRow>(
    'select id, sequence, state, attempts, next_attempt_at, created_at from webhook_event where order_id = $1 order by sequence',
    [orderId],
  );
  return Promise.all(
    events.map(async (event) => {
      const { rows: attempts } = await db.query<AttemptRow>(
        `select attempt, at, duration_ms, status, error, error_detail, address, response_body, next_attempt_at
         from webhook_attempt where event_id = $1 order by attempt`,
        [event.id],
      );
      return { event, attempts };
    }),
  );
}

/** Checks one attempt against what a receiver of that kind causes. */
export function expectKind(row: AttemptRow, { status, error, detail, slow, unconnected }: Kind): void {
  const address = unconnected ? null : '127.0.0.1';
  // If the machine stalls at the timeout, the worker notices that it could not tell what the receiver did.
  const isStalled = error === 'timeout' && row.duration_ms > TIMEOUT_MS + 1000;
  const recorded = isStalled ? expect.stringMatching(/^(timeout|interrupted)$/) : (error ?? null);
  expect(row).toMatchObject({ status: status ?? null, error: recorded, address });
  expect(row.error_detail ?? '').toMatch(detail ?? (error ? /./ : /^$/));
  expect(Buffer.byteLength(row.response_body)).toBeLessThanOrEqual(1024);
  expect(row.duration_ms).toBeGreaterThanOrEqual(slow ? TIMEOUT_MS - ROUNDING_MS : 0);
}

/**
 * Checks that no attempt starts before its delay has passed, nor before the previous response's Retry-After.
 * @param notBefore unix ms until which each response asked to wait
 */
export function expectOnSchedule(event: EventRow, attempts: AttemptRow[], notBefore: number[]): void {
  let planned = event.created_at.getTime();
  for (const [index, attempt] of attempts.entries()) {
    expect(attempt.at.getTime()).toBeGreaterThanOrEqual(planned - ROUNDING_MS);
    if (index === attempts.length - 1) break;
    const delayMs = DELAYS[index + 1]! * 1000;
    const retryAfter = notBefore[index] ?? 0;
    planned = attempt.next_attempt_at!.getTime();
    expect(planned).toBeGreaterThanOrEqual(Math.max(endOf(attempt) + 0.9 * delayMs, retryAfter) - ROUNDING_MS);
  }
  expect(attempts.at(-1)!.next_attempt_at).toBeNull();
}

/** Returns when an attempt ended, in unix ms. */
export function endOf({ at, duration_ms }: AttemptRow): number {
  return at.getTime() + duration_ms;
}
