import type { Lender } from '../../src/checkout/lender/lender';
import type { PaymentProvider } from '../../src/checkout/payments/payment-provider';
import type * as Providers from '../../src/providers';

/**
 * For `jest.mock('…/src/providers', …)`: the module with this lender and this bank for live accounts. Jest calls it
 * before the test file's own constants have values.
 */
export function withLiveProviders(lender: () => Lender, bank?: () => PaymentProvider): typeof Providers {
  const { lendersOf, paymentProvidersOf } = jest.requireActual<typeof Providers>('../../src/providers');
  return {
    lendersOf: (...args) => ({ ...lendersOf(...args), live: lender() }),
    paymentProvidersOf: (...args) => ({ ...paymentProvidersOf(...args), live: bank?.() }),
  };
}
