import type { Logger } from 'pino';

const LOG_EVERY_MS = 10_000;

/**
 * Logs orders that have to wait: one line for each kind of error, however many orders they are. The line has one of the errors
 * in full, because it may be a bug.
 * @returns a function to call for each such order
 */
export function logMissed(log: Logger, message: string): (orderId: string, reason: unknown) => void {
  const missed = new Map<string, { orders: number; order_id: string; reason: string; err?: Error }>();
  return (orderId, reason) => {
    const kind = reason instanceof Error ? reason.name : 'not tried';
    const known = missed.get(kind);
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
    missed.set(kind, line);
    setTimeout(() => {
      missed.delete(kind);
      log.warn(line, message);
    }, LOG_EVERY_MS).unref();
  };
}
