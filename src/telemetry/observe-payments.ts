import type { PaymentProvider } from '../payments/payment-provider';
import { type AccountMode, type PAYMENT_CALLS, paymentRequests } from './metrics';

/** Counts the calls of the payment providers of sandbox and live accounts. */
export function observePayments<Sandbox extends PaymentProvider, Live extends PaymentProvider>(payments: {
  sandbox: Sandbox | undefined;
  live: Live | undefined;
}): { sandbox: Sandbox | undefined; live: Live | undefined } {
  return {
    sandbox: payments.sandbox && observe(payments.sandbox, 'sandbox'),
    live: payments.live && observe(payments.live, 'live'),
  };
}

function observe<P extends PaymentProvider>(provider: P, mode: AccountMode): P {
  async function count<T>(call: (typeof PAYMENT_CALLS)[number], request: () => Promise<T>): Promise<T> {
    let outcome = 'failed';
    try {
      const result = await request();
      outcome = 'succeeded';
      return result;
    } finally {
      paymentRequests.inc({ mode, call, outcome });
    }
  }
  return {
    ...provider,
    // A spread leaves out what an adapter inherits from its class.
    name: provider.name,
    regulation: provider.regulation,
    banks: provider.banks,
    start: (payment) => count('start', () => provider.start(payment)),
    statusOf: (id) => count('statusOf', () => provider.statusOf(id)),
    cancel: (id) => count('cancel', () => provider.cancel(id)),
    refund: (id) => count('refund', () => provider.refund(id)),
  };
}
