import type { Logger } from 'pino';
import type { Order } from '../../domain/order';
import type { Offer } from '../domain/application';
import { quoteOf } from '../lender/guard-lenders';
import type { Lender } from '../lender/lender';
import type { Bank, PaymentProvider, PaymentProviders } from '../payments/payment-provider';

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

export function banksOf({ payNow }: ProviderDetails): readonly Bank[] {
  return payNow?.banks ?? [];
}

export function bankName(providerDetails: ProviderDetails, id: string): string {
  return banksOf(providerDetails).find((bank) => bank.id === id)?.name ?? 'your bank';
}

/** The path of the sample documents, which the pages link to if no others are configured. */
export const SAMPLE_DOCUMENTS = '/pay/documents';

export interface ProviderSettings {
  lenderName: string;
  /** A sample if undefined, as the two below. */
  privacyUrl?: string | undefined;
  termsUrl?: string | undefined;
  creditAgreementUrl?: string | undefined;
}

export function createProviderDetails(
  checkoutBaseUrl: string,
  payments: PaymentProviders,
  lenders: { sandbox: Lender; live?: Lender | undefined },
  { lenderName, privacyUrl, termsUrl, creditAgreementUrl }: ProviderSettings,
  log: Logger,
): ProviderDetailsOf {
  const samples = `${checkoutBaseUrl}${SAMPLE_DOCUMENTS}`;
  return ({ sandbox, payLinkId }) => {
    // Without a live lender, no page of a live order needs one.
    const lender = sandbox ? lenders.sandbox : (lenders.live ?? lenders.sandbox);
    const linkTo = (name: string, url = `${samples}/${name}/?order={pay_link_id}`): string =>
      url.replaceAll('{pay_link_id}', payLinkId);
    return {
      lenderName,
      payNow: sandbox ? payments.sandbox : payments.live,
      quote: (order, today) => quoteOf(lender, order, today, log),
      reviewTime: lender.reviewTime,
      privacyUrl: linkTo('privacy', privacyUrl),
      termsUrl: linkTo('terms', termsUrl),
      creditAgreementUrl: linkTo('credit-agreement', creditAgreementUrl),
    };
  };
}
