import type { Logger } from 'pino';

const LOG_EVERY_MS = 10_000;

/**
 * Creates a function that logs an order whose call is left to the sweep: one line for each kind of error, however many
 * orders they are. The line has one of the errors in full, because it may be a bug.
 */
export function createPostponedLog(log: Logger, message: string): (orderId: string, reason: unknown) => void {
  const postponed = new Map<string, { orders: number; order_id: string; reason: string; err?: Error }>();
  return (orderId, reason) => {
    const kind = reason instanceof Error ? reason.name : 'not tried';
    const known = postponed.get(kind);
    if (known) {
      known.orders += 1;
      return;
    }
    const line = {
      orders: 1,
      order_id: orderId,
      reason: String(reason),
      ...(reason instanceof Error && { err: reason }),
    };
    postponed.set(kind, line);
    setTimeout(() => {
      postponed.delete(kind);
      log.warn(line, message);
    }, LOG_EVERY_MS).unref();
  };
}
