export type LenderOutcome = 'approved' | 'declined' | 'failed' | 'verify' | 'referred' | 'referred-declined' | 'outage';

/** A customer for tests. Each one always has the same outcome. */
interface TestCustomer<T extends string> {
  /** For the lender, the part of the email address before `@` or `+`; for the sandbox bank, the customer's number. */
  name: T;
  /** What happens, as a sentence part: "is declined". */
  outcome: string;
}

/** The customers of the sandbox lender: apply for Pay later as `<name>@example.com`. */
export const LENDER_TEST_CUSTOMERS: readonly TestCustomer<LenderOutcome>[] = [
  { name: 'approved', outcome: 'is approved immediately, like every address that is not listed here' },
  { name: 'declined', outcome: 'is declined (credit check), and can pay now if the order allows it' },
  { name: 'verify', outcome: 'confirms an identity on a page of the lender, then is approved' },
  { name: 'referred', outcome: 'is reviewed for `SANDBOX_REFERRAL_MS` (20 s), then approved' },
  { name: 'referred-declined', outcome: 'is reviewed for `SANDBOX_REFERRAL_MS`, then declined' },
  { name: 'failed', outcome: 'cannot be processed by the lender, and can try again' },
  { name: 'outage', outcome: 'waits while the lender is unavailable for `SANDBOX_REFERRAL_MS`, then is approved' },
];

/** What the sandbox bank does when a test customer approves a payment. */
export type BankOutcome = 'approved' | 'refused' | 'slow' | 'slow-refused' | 'abandoned';

/** The customers of the sandbox bank: choose one on its page. */
export const BANK_TEST_CUSTOMERS: readonly TestCustomer<BankOutcome>[] = [
  { name: 'approved', outcome: 'pays immediately' },
  { name: 'refused', outcome: 'is refused by the bank, and can choose another bank or payment method' },
  { name: 'slow', outcome: 'pays, and the bank confirms it after `SANDBOX_REFERRAL_MS` (20 s)' },
  { name: 'slow-refused', outcome: 'is refused by the bank after `SANDBOX_REFERRAL_MS`' },
  { name: 'abandoned', outcome: 'leaves without approving; the bank cancels the payment after `SANDBOX_REFERRAL_MS`' },
];

/** An outcome without the name of its setting, for people who cannot set it. */
export function describeOutcome({ outcome }: Pick<TestCustomer<string>, 'outcome'>): string {
  return outcome.replace(/`SANDBOX_REFERRAL_MS`( \(20 s\))?/, 'a moment');
}
