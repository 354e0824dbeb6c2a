import type { Config } from './config';
import type { DbClient } from './db/pool';
import { createSandboxBooks } from './db/sandbox-payments';
import type { Lender } from './lender/lender';
import { createSandboxLender } from './lender/sandbox';
import { type SandboxBank, createSandboxBank } from './payments/sandbox-bank';

// The adapters of a real lender and a real payment provider replace the sandbox here: see docs/hosted-checkout.md.

/** @returns undefined if there is no hosted checkout */
export function lenderOf({ hostedCheckout: { lender, sandboxReferralMs } }: Config): Lender | undefined {
  return lender === 'sandbox' ? createSandboxLender(sandboxReferralMs) : undefined;
}

/** @returns undefined if there is no hosted checkout */
export function paymentsOf({ checkoutBaseUrl, hostedCheckout }: Config, db: DbClient): SandboxBank | undefined {
  const { lender, sandboxReferralMs } = hostedCheckout;
  if (lender !== 'sandbox') return undefined;
  return createSandboxBank(createSandboxBooks(db), `${checkoutBaseUrl}/pay/sandbox-bank`, sandboxReferralMs);
}
