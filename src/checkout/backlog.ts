import type { BacklogGauges } from '../telemetry/gauges';
import { type PaymentBacklog, readPaymentBacklog } from './db/payments';

/** The gauges of a service with the hosted checkout. */
export const CHECKOUT_BACKLOG: BacklogGauges<keyof PaymentBacklog> = {
  names: {
    paymentsToReverse: [
      'payments_to_reverse',
      'Payments of closed live orders that are not cancelled or refunded yet.',
    ],
    oldestPaymentToReverseSeconds: [
      'oldest_payment_to_reverse_seconds',
      'Time since the first of the orders of these payments was closed.',
    ],
  },
  read: async (db) => ({ ...(await readPaymentBacklog(db)) }),
};
