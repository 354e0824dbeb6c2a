import { createSandboxPaymentStore } from '../../src/checkout/db/sandbox-payments';
import type { Applicant } from '../../src/checkout/domain/application';
import { createSandboxLender } from '../../src/checkout/sandbox/sandbox-lender';
import { createSandboxBank } from '../../src/checkout/sandbox/sandbox-bank';
import { type DbClient, createPool } from '../../src/db/pool';
import type { LenderKit } from './lender-checks';
import type { PaymentKit } from './payment-checks';

const applicant = (name: string): Applicant => ({
  businessName: 'Bloggs & Daughters Ltd',
  companyNumber: '01234567',
  email: `${name}@example.com`,
  monthlyTurnoverPence: 1_250_000,
});

export function lender(): LenderKit {
  const sandbox = createSandboxLender(300);
  return {
    lender: sandbox,
    applicants: {
      approved: applicant('jo'),
      declined: applicant('declined'),
      failed: applicant('failed'),
      referred: applicant('referred'),
      action_required: applicant('verify'),
    },
    unreachable: {
      ...sandbox,
      decide: (application, signal) => sandbox.decide({ ...application, applicant: applicant('outage') }, signal),
    },
  };
}

/** @param db default: the database of DATABASE_URL */
export function payments(db: DbClient = createPool(process.env.DATABASE_URL ?? '', 2, console.error)): PaymentKit {
  const bank = createSandboxBank(createSandboxPaymentStore(db), 'https://pay.example/pay/sandbox-bank', 300);
  return {
    provider: bank,
    approve: (pageUrl) => bank.decide(new URL(pageUrl).pathname.split('/').at(-2) ?? '', 'approved'),
  };
}
