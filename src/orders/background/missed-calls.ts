import type { Logger } from 'pino';

const LOG_EVERY_MS = 10_000;

/**
 * Logs orders that have to wait: one line for all of them, however many they are.
 * @returns a function to call for each such order
 */
export function logMissed(log: Logger, message: string): (orderId: string, reason: unknown) => void {
  let missed: { orders: number; order_id: string; reason: string } | undefined;
  return (orderId, reason) => {
    if (missed) {
      missed.orders += 1;
      return;
    }
    missed = { orders: 1, order_id: orderId, reason: String(reason) };
    setTimeout(() => {
      log.warn(missed, message);
      missed = undefined;
    }, LOG_EVERY_MS).unref();
  };
}
