import { setTimeout as delay } from 'node:timers/promises';
import { type AccountMode, type PAYMENT_CALLS, paymentRequests } from '../metrics';
import { type PaymentProvider, PaymentProviderUnavailable } from './payment-provider';

/** Two calls fit into the 30 s of an activity. */
const DEADLINE_MS = 10_000;

/**
 * Counts each call of the payment providers and makes it end. Each of their errors becomes a PaymentProviderUnavailable.
 */
export function guardPayments<Sandbox extends PaymentProvider, Live extends PaymentProvider>(
  { sandbox, live }: { sandbox: Sandbox | undefined; live: Live | undefined },
  deadlineMs = DEADLINE_MS,
): { sandbox: Sandbox | undefined; live: Live | undefined } {
  return {
    sandbox: sandbox && guard(sandbox, 'sandbox', deadlineMs),
    live: live && guard(live, 'live', deadlineMs),
  };
}

type CallName = (typeof PAYMENT_CALLS)[number];

function guard<P extends PaymentProvider>(provider: P, mode: AccountMode, deadlineMs: number): P {
  async function call<T>(name: CallName, request: () => Promise<T>): Promise<T> {
    const ended = new AbortController();
    let outcome = 'failed';
    async function deadline(): Promise<never> {
      await delay(deadlineMs, undefined, { signal: ended.signal });
      throw new PaymentProviderUnavailable(`the payment provider has not answered within ${deadlineMs} ms`);
    }
    try {
      const result = await Promise.race([request(), deadline()]);
      outcome = 'succeeded';
      return result;
    } catch (error) {
      if (error instanceof PaymentProviderUnavailable) throw error;
      // Workflow history keeps the message, and that of an adapter's own error may quote personal data.
      const kind = error instanceof Error ? error.name : typeof error;
      throw new PaymentProviderUnavailable(`the payment provider's adapter failed: ${kind}`, { cause: error });
    } finally {
      ended.abort();
      paymentRequests.inc({ mode, call: name, outcome });
    }
  }
  return {
    ...provider,
    // A spread leaves out what an adapter inherits from its class.
    name: provider.name,
    regulation: provider.regulation,
    banks: provider.banks,
    start: (payment) => call('start', () => provider.start(payment)),
    statusOf: (id) => call('statusOf', () => provider.statusOf(id)),
    cancel: (id) => call('cancel', () => provider.cancel(id)),
    refund: (id) => call('refund', () => provider.refund(id)),
  };
}
