import type { Context } from './context';
import { findApplicant } from '../db/applications';
import { isProblem } from '../../contracts/problem';
import type { MailAccounts } from '../../mail/mailer';
import type { Order } from '../../domain/order';
import { isUuid } from '../../domain/text';
import type { Checkout } from '../domain/checkout';
import { type CheckoutDependencies, readCheckout } from '../use-cases/read-checkout';
import { notFound } from '../order-core';
import type { ApplicantIdentity } from './applicant-identity';
import type { Forms } from '../../html/forms';
import { createPageReads } from './page-reads';
import type { ProviderDetailsOf } from '../pages/provider-details';

export interface PayLinkLimits {
  networkOf: (ctx: Context) => string;
  /**
   * Counts a request against the limits of its pay link.
   * @param isApplicant true if the browser is the one that submitted the application, which has a limit of its own
   * @throws Problem `rate_limited`
   */
  countPayLink: (ctx: Context, payLinkId: string, isApplicant: () => Promise<boolean>) => Promise<void>;
}

/** What the pages of an order are made of. */
export interface PageParts {
  deps: CheckoutDependencies;
  forms: Forms;
  identity: ApplicantIdentity;
  providerDetailsOf: ProviderDetailsOf;
  limits: PayLinkLimits;
  /** The accounts whose applicants we write to. */
  mails: MailAccounts;
  /** Reads the secret that all processes share. */
  readSecret: () => Promise<string>;
  /** The path of an order's pages. */
  pathOf: (payLinkId: string) => string;
  /** How long an application is kept after its order closes, in ms. */
  retentionMs: number;
}

/** What a pay link belongs to. */
type PayLink = Pick<Order, 'payLinkId' | 'sellerId'>;

export type RouteTools = ReturnType<typeof createRouteTools>;

/** What the routes under `/pay/:payLinkId` share. */
export function createRouteTools(parts: PageParts) {
  const { deps, forms, identity, providerDetailsOf, limits, pathOf } = parts;
  const reads = createPageReads(deps.core);

  /** Counts a request, and finds what belongs to its pay link. */
  async function lookUp<T>(ctx: Context, find: (payLink: PayLink) => Promise<T>): Promise<T> {
    const payLinkId = ((ctx.params as { payLinkId?: string }).payLinkId ?? '').toLowerCase();
    const sellerId = isUuid(payLinkId) ? await reads.sellerOf(payLinkId, limits.networkOf(ctx)) : undefined;
    if (sellerId === undefined) throw notFound('pay link');
    const isApplicant = async (): Promise<boolean> => {
      const found = await findApplicant(deps.db, payLinkId);
      if (!found) return false;
      const digests = identity.digestsOf(ctx, { order: { id: found.orderId } });
      return digests.some((digest) => digest.equals(found.browserDigest));
    };
    // Beyond the limit, the count reads the applicant.
    return reads.run(sellerId, async () => {
      await limits.countPayLink(ctx, payLinkId, isApplicant);
      return find({ payLinkId, sellerId });
    });
  }

  /** Reads an order again, which may have changed. */
  const readLatest = ({ payLinkId, sellerId }: PayLink): Promise<Checkout> =>
    reads.run(sellerId, () => readCheckout(deps, payLinkId));

  /** Prepares what was read for the pages. */
  function prepare(ctx: Context, checkout: Checkout): Checkout {
    const { order, branding } = checkout;
    ctx.state.orderId = order.id;
    ctx.state.layout = { order, branding, providerDetails: providerDetailsOf(order), path: pathOf(order.payLinkId) };
    return checkout;
  }

  /**
   * Reads the order for its pages. Counts the request.
   * @throws Problem `not_found`, `rate_limited`, `service_unavailable`
   */
  async function loadCheckout(ctx: Context): Promise<Checkout> {
    return prepare(ctx, await lookUp(ctx, ({ payLinkId }) => readCheckout(deps, payLinkId)));
  }

  /**
   * Finds the pay link before it reads the body, so that a request without a valid one costs no memory. Reads the order
   * afterwards: while a browser withholds the body, another one can change the order.
   * @returns the order, the form's fields, and the secret of the browser that it was rendered for
   * @throws CsrfError
   * @throws FormBodyError
   */
  async function readForm(ctx: Context) {
    const payLink = await lookUp(ctx, (found) => Promise.resolve(found));
    const form = forms.readVerifiedForm(ctx, payLink.payLinkId);
    await Promise.allSettled([form]);
    const checkout = prepare(ctx, await readLatest(payLink));
    // Throws here, so that the error page has the order's layout.
    return { checkout, ...(await form) };
  }

  /** Shows an order's layout around a page that is not one of its own, if there is such an order. */
  async function loadLayout(ctx: Context, payLinkId: string): Promise<void> {
    Object.assign(ctx.params as object, { payLinkId });
    await loadCheckout(ctx).catch((error: unknown) => {
      if (!isProblem(error, 'not_found')) throw error;
    });
  }

  /** @param suffix is added to the path of the order's page */
  function redirect(ctx: Context, { order }: Checkout, suffix = ''): void {
    ctx.status = 303;
    ctx.redirect(`${pathOf(order.payLinkId)}/${suffix}`);
  }

  return { ...parts, lookUp, loadCheckout, loadLayout, readForm, readLatest, redirect };
}
