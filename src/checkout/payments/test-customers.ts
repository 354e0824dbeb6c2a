import type { TestCustomer } from '../lender/test-customers';

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
