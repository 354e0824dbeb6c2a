import type { SandboxPayment, SandboxPaymentStore } from '../db/sandbox-payments';
import { type PaymentStatus, APPROVE_WITHIN_MS } from '../domain/payment';
import type { Bank, PaymentProvider } from '../payments/payment-provider';
import { sandboxSettlement } from './sandbox-settlement';
import type { BankOutcome } from './test-customers';

const BANKS: readonly Bank[] = [
  { id: 'oak', name: 'Oak Bank' },
  { id: 'harbour', name: 'Harbour Bank' },
  { id: 'northern', name: 'Northern Mutual' },
];

/** A customer who presses Cancel on the bank's page. */
export const CANCELLED_AT_BANK = 'cancelled';
/** Decisions that leave the payment unapproved. */
const UNDECIDED: readonly string[] = ['abandoned'] satisfies BankOutcome[];

/** The payment provider for tests: three banks, and a page at each that asks which test customer approves. */
export interface SandboxBank extends PaymentProvider {
  find(id: string): Promise<SandboxPayment | undefined>;
  /** The status for the bank's own page. Unlike `statusOf`, it does not cancel a payment that nobody has approved in time. */
  look(payment: SandboxPayment): PaymentStatus;
  /** Records what a test customer does on the bank's page. Later decisions are ignored. */
  decide(id: string, customer: BankOutcome | typeof CANCELLED_AT_BANK): Promise<void>;
}

/**
 * @param pageUrl the address of the bank's pages; a payment's id is added
 * @param delayMs until a slow payment is confirmed and an abandoned one is cancelled
 */
export function createSandboxBank(store: SandboxPaymentStore, pageUrl: string, delayMs: number): SandboxBank {
  async function statusOf(id: string): Promise<PaymentStatus> {
    const payment = await store.find(id);
    if (payment && isTimedOut(payment, delayMs)) return cancel(id);
    return payment ? statusNow(payment, delayMs) : 'pending';
  }

  async function cancel(id: string): Promise<PaymentStatus> {
    await store.cancel(id, UNDECIDED);
    const payment = await store.find(id);
    return payment ? statusNow(payment, delayMs) : 'cancelled';
  }

  return {
    name: 'Sandbox Payments',
    regulation: 'It is a test provider, which nobody regulates.',
    banks: BANKS,
    async start(payment) {
      await store.insert(payment);
      return `${pageUrl}/${payment.id}/`;
    },
    statusOf,
    cancel,
    refund: (id) => store.refund(id),
    async settlementOf(id) {
      const payment = await store.find(id);
      if (!payment?.details || statusNow(payment, delayMs) !== 'paid') return undefined;
      return sandboxSettlement(id, payment.details.amountPence, new Date(Date.now() - payment.decidedMs));
    },
    find: (id) => store.find(id),
    look: (payment) => statusNow(payment, delayMs),
    decide: (id, customer) => store.decide(id, customer),
  };
}

function isTimedOut({ isCancelled, customer, ageMs, decidedMs }: SandboxPayment, delayMs: number): boolean {
  if (isCancelled) return false;
  return customer === null ? ageMs > APPROVE_WITHIN_MS : customer === 'abandoned' && decidedMs >= delayMs;
}

function statusNow({ isCancelled, isRefunded, customer, decidedMs }: SandboxPayment, delayMs: number): PaymentStatus {
  if (isRefunded) return 'refunded';
  if (isCancelled || customer === CANCELLED_AT_BANK) return 'cancelled';
  if (customer === null || UNDECIDED.includes(customer)) return 'pending';
  if (customer.startsWith('slow') && decidedMs < delayMs) return 'processing';
  return customer.endsWith('refused') ? 'refused' : 'paid';
}
