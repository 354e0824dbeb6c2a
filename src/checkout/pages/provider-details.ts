import type { Order } from '../../domain/order';
import type { Offer } from '../domain/application';
import type { Lender } from '../lender/lender';
import type { Bank, PaymentProvider } from '../payments/payment-provider';

/** What the pages state about the lender, the banks and the service's documents. */
export interface ProviderDetails extends Pick<Lender, 'reviewTime'> {
  lenderName: string;
  /** As the lender's, or undefined if it fails. */
  quote: (...order: Parameters<Lender['quote']>) => Offer | undefined;
  /** Who takes payments; undefined if nobody does. */
  payNow: Pick<PaymentProvider, 'name' | 'regulation' | 'banks'> | undefined;
  privacyUrl: string;
  termsUrl: string;
  creditAgreementUrl: string;
}

/** Returns the details for an order: a sandbox account and a live one have lenders and banks of their own. */
export type ProviderDetailsOf = (order: Pick<Order, 'sandbox' | 'payLinkId'>) => ProviderDetails;

/** The banks that customers can choose. */
export function banksOf({ payNow }: ProviderDetails): readonly Bank[] {
  return payNow?.banks ?? [];
}

/** The name of a bank that customers can choose or have chosen. */
export function bankName(providerDetails: ProviderDetails, id: string): string {
  return banksOf(providerDetails).find((bank) => bank.id === id)?.name ?? 'your bank';
}
