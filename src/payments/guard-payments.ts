import { setTimeout as delay } from 'node:timers/promises';
import { type PaymentProvider, PaymentProviderUnavailable } from './payment-provider';

/** Two calls fit into the 30 s of an activity. */
const DEADLINE_MS = 10_000;

/** Makes each call of the payment providers end, and each of their errors a PaymentProviderUnavailable. */
export function guardPayments<Sandbox extends PaymentProvider, Live extends PaymentProvider>(
  { sandbox, live }: { sandbox: Sandbox | undefined; live: Live | undefined },
  deadlineMs = DEADLINE_MS,
): { sandbox: Sandbox | undefined; live: Live | undefined } {
  return { sandbox: sandbox && guard(sandbox, deadlineMs), live: live && guard(live, deadlineMs) };
}

function guard<P extends PaymentProvider>(provider: P, deadlineMs: number): P {
  async function call<T>(request: () => Promise<T>): Promise<T> {
    const ended = new AbortController();
    async function deadline(): Promise<never> {
      await delay(deadlineMs, undefined, { signal: ended.signal });
      throw new PaymentProviderUnavailable(`the payment provider has not answered within ${deadlineMs} ms`);
    }
    try {
      return await Promise.race([request(), deadline()]);
    } catch (error) {
      if (error instanceof PaymentProviderUnavailable) throw error;
      // Workflow history keeps the message, and that of an adapter's own error may quote personal data.
      const kind = error instanceof Error ? error.name : typeof error;
      throw new PaymentProviderUnavailable(`the payment provider's adapter failed: ${kind}`, { cause: error });
    } finally {
      ended.abort();
    }
  }
  return {
    ...provider,
    // A spread leaves out what an adapter inherits from its class.
    name: provider.name,
    regulation: provider.regulation,
    banks: provider.banks,
    start: (payment) => call(() => provider.start(payment)),
    statusOf: (id) => call(() => provider.statusOf(id)),
    cancel: (id) => call(() => provider.cancel(id)),
    refund: (id) => call(() => provider.refund(id)),
  };
}
