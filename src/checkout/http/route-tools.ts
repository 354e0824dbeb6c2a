import type { Context } from './context';
import type { Checkout } from '../domain/checkout';
import { type PageParts, createRequestReader } from './read-request';

/** What the routes under `/pay/:payLinkId` share. */
export function createRouteTools(parts: PageParts) {
  return {
    ...parts,
    ...createRequestReader(parts),
    /** @param suffix is added to the path of the order's page */
    redirect: (ctx: Context, { order }: Checkout, suffix = ''): void => {
      ctx.status = 303;
      ctx.redirect(`${parts.pathOf(order.payLinkId)}/${suffix}`);
    },
  };
}

export type RouteTools = ReturnType<typeof createRouteTools>;
