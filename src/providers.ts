import type { Config } from './config';
import type { DbClient } from './db/pool';
import { createSandboxPaymentStore } from './checkout/db/sandbox-payments';
import type { Lenders } from './checkout/lender/lender';
import { createSandboxLender } from './checkout/sandbox/sandbox-lender';
import type { PaymentProviders } from './checkout/payments/payment-provider';
import { type SandboxBank, createSandboxBank } from './checkout/sandbox/sandbox-bank';

/**
 * The sandbox lender for sandbox accounts, unless there is no hosted checkout. The adapter of a real lender becomes
 * `live`: see docs/lenders/connect.md.
 */
export function lendersOf({ hostedCheckout: { enabled, sandboxReferralMs } }: Pick<Config, 'hostedCheckout'>): Lenders {
  return {
    sandbox: enabled ? createSandboxLender(sandboxReferralMs) : undefined,
    live: undefined,
  };
}

/** The adapter of a real provider of payments becomes `live`. */
export function paymentProvidersOf(
  config: Config,
  db: DbClient,
): PaymentProviders & { sandbox: SandboxBank | undefined } {
  return { sandbox: sandboxBankOf(config, db), live: undefined };
}

/** @returns undefined if there is no hosted checkout */
function sandboxBankOf({ checkoutBaseUrl, hostedCheckout }: Config, db: DbClient): SandboxBank | undefined {
  const { enabled, sandboxReferralMs } = hostedCheckout;
  if (!enabled) return undefined;
  return createSandboxBank(createSandboxPaymentStore(db), `${checkoutBaseUrl}/pay/sandbox-bank`, sandboxReferralMs);
}
