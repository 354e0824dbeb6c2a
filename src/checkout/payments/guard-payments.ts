import type { Logger } from 'pino';
import { beginAtZero, counter } from '../../telemetry/metrics';
import { type AccountMode, guardCall, loggedFor } from '../guard-call';
import { checkPage, checkSettlement } from '../lender/check-answer';
import { type PaymentProvider, PaymentProviderUnavailable } from './payment-provider';

/** Two calls fit into the 30 s of an activity. */
const PAYMENT_DEADLINE_MS = 10_000;

const paymentRequests = counter(
  'payment_requests_total',
  'Requests to the payment provider.',
  'mode',
  'call',
  'outcome',
);
const PAYMENT_CALLS = ['start', 'statusOf', 'cancel', 'refund', 'settlementOf'] as const;
for (const mode of ['sandbox', 'live'] satisfies AccountMode[]) {
  for (const call of PAYMENT_CALLS) beginAtZero(paymentRequests, 'outcome', ['succeeded', 'failed'], { mode, call });
}

/** Counts each call of the payment providers and makes it end. They throw PaymentProviderUnavailable only. */
export function guardPayments<Sandbox extends PaymentProvider, Live extends PaymentProvider>(
  { sandbox, live }: { sandbox: Sandbox | undefined; live: Live | undefined },
  { log, deadlineMs = PAYMENT_DEADLINE_MS }: { log?: Logger; deadlineMs?: number } = {},
): { sandbox: Sandbox | undefined; live: Live | undefined } {
  return {
    sandbox: sandbox && guardProvider(sandbox, 'sandbox', { log, deadlineMs }),
    live: live && guardProvider(live, 'live', { log, deadlineMs }),
  };
}

function guardProvider<P extends PaymentProvider>(
  provider: P,
  mode: AccountMode,
  { log, deadlineMs }: { log: Logger | undefined; deadlineMs: number },
): P {
  const call = <T>(
    name: (typeof PAYMENT_CALLS)[number],
    request: () => Promise<T>,
    check?: (value: T) => T,
  ): Promise<T> =>
    guardCall(request, {
      who: 'the payment provider',
      deadlineMs,
      Unavailable: PaymentProviderUnavailable,
      ...(check && { check }),
      log: loggedFor(mode, log),
      count: (result) => paymentRequests.inc({ mode, call: name, outcome: result ? 'succeeded' : 'failed' }),
    });
  return {
    ...provider,
    // A spread leaves out what an adapter inherits from its class.
    name: provider.name,
    regulation: provider.regulation,
    banks: provider.banks,
    start: (payment) =>
      call(
        'start',
        () => provider.start(payment),
        (url) => checkPage(url, payment.returnUrl),
      ),
    statusOf: (id) => call('statusOf', () => provider.statusOf(id)),
    cancel: (id) => call('cancel', () => provider.cancel(id)),
    refund: (id) => call('refund', () => provider.refund(id)),
    ...(provider.settlementOf && {
      settlementOf: (id: string) => call('settlementOf', async () => provider.settlementOf?.(id), checkSettlement),
    }),
  };
}
