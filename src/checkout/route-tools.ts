import type { Context } from './context';
import type { Checkout, CheckoutDependencies } from './hosted-checkout';
import type { ApplicantIdentity } from './applicant-identity';
import type { createOrderPages } from './order-pages';
import type { ProviderDetailsOf } from './provider-details';
import type { PayLinkLimits, SubmittedForm } from './read-request';

/** What the routes under `/pay/:payLinkId` share. */
export interface RouteTools {
  deps: CheckoutDependencies;
  identity: ApplicantIdentity;
  limits: PayLinkLimits;
  providerDetailsOf: ProviderDetailsOf;
  pages: ReturnType<typeof createOrderPages>;
  readForm: (ctx: Context) => Promise<SubmittedForm>;
  loadCheckout: (ctx: Context) => Promise<Checkout>;
  /** Reads an order again, which may have changed. */
  readLatest: (order: Checkout['order']) => Promise<Checkout>;
  /** The path of an order's pages. */
  pathOf: (payLinkId: string) => string;
  /** @param suffix is added to the path of the order's page */
  redirect: (ctx: Context, checkout: Checkout, suffix?: string) => void;
}
