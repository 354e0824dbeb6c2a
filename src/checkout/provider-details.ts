import type { Order } from '../domain/order';
import type { Lender } from './lender/lender';
import type { Bank } from './payments/payment-provider';

/** What the pages state about the lender, the banks and the service's documents. */
export interface ProviderDetails extends Pick<Lender, 'quote' | 'reviewTime'> {
  lenderName: string;
  banks: readonly Bank[];
  privacyUrl: string;
  termsUrl: string;
  creditAgreementUrl: string;
}

/** Returns the details for an order: a sandbox account and a live one have lenders and banks of their own. */
export type ProviderDetailsOf = (order: Pick<Order, 'sandbox'>) => ProviderDetails;

/** The name of a bank that customers can choose or have chosen. */
export function bankName({ banks }: ProviderDetails, id: string): string {
  return banks.find((bank) => bank.id === id)?.name ?? 'your bank';
}
