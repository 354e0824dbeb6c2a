import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { closePaidPayments, leasePaymentsToReverse } from '../../db/payments';
import type { Db } from '../../db/pool';
import { type Payment, isInProgress } from '../../domain/payment';
import type { PaymentProviders } from '../../payments/payment-provider';
import { reversePayment } from '../customer-payments';

const BATCH = 50;
const MAX_RETRY_MS = 5 * 60_000;

interface PaymentReversalOptions {
  db: Db;
  payments: PaymentProviders;
  log: Logger;
  /**
   * Time in ms between two searches for payments, and until a payment's first retry. Each later retry waits twice as
   * long.
   */
  intervalMs: number;
}

/**
 * Cancels or refunds the payments of orders that were cancelled, expired or closed in another way while the customer
 * was at the bank. Several workers may do this at the same time.
 * @returns a function that stops it and resolves once it has stopped
 */
export function startPaymentReversals({ db, payments, log, intervalMs }: PaymentReversalOptions): () => Promise<void> {
  const stopping = new AbortController();

  async function tryToReverse(payment: Payment): Promise<void> {
    try {
      const status = await reversePayment({ db, payments }, payment);
      if (isInProgress(status)) return;
      log.info({ order_id: payment.orderId, payment_id: payment.id, status }, 'payment of a closed order ended');
    } catch (error) {
      log.warn({ order_id: payment.orderId, err: error }, 'a payment could not be reversed, retrying later');
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await closePaidPayments(db);
        const retryAfter = { firstMs: intervalMs, maxMs: MAX_RETRY_MS };
        await Promise.all((await leasePaymentsToReverse(db, BATCH, retryAfter)).map(tryToReverse));
      } catch (error) {
        log.warn({ err: error }, 'payments of closed orders could not be read, retrying later');
      }
      await delay(intervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}
