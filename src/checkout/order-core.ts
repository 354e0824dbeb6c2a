import { isProblem } from '../contracts/problem';
import { findOrder, findSellerOfPayLink, holdOrder, recordSettlement } from '../db/orders';
import type { Db } from '../db/pool';
import { findSeller } from '../db/sellers';
import type { Actor, ProgressEvent, Order, PaymentTerm, Settlement } from '../domain/order';
import { changeOrder } from '../orders/change-order';
import { notFound, requireOrderByPayLink, requireOrder } from '../orders/read-order';
import type { OrderWorkflows } from '../temporal/order-workflow-client';

export { findSeller, notFound };

/** What a report says besides its event. The actor is the customer unless it names another one. */
interface ReportedBy {
  actor?: Actor;
  reason?: string | null;
  /** How the customer pays, once it is known. */
  paymentTerm?: PaymentTerm | undefined;
}

/**
 * All that the hosted checkout uses of the order core. Its statements read one view, `checkout_order`, and no table of
 * the core.
 */
export type OrderCore = ReturnType<typeof createOrderCore>;

export function createOrderCore(deps: { db: Db; workflows: OrderWorkflows }) {
  const { db } = deps;
  return {
    /** Reads an order's row, which holds every acknowledged change. */
    find: (orderId: string): Promise<Order | undefined> => findOrder(db, orderId),

    /** Reads the row of the order that a pay link leads to. @throws Problem `not_found` */
    findByPayLink: (payLinkId: string): Promise<Order> => requireOrderByPayLink(deps, payLinkId),

    /** Returns the seller of the order with a pay link, or undefined if there is none. */
    findSeller: (payLinkId: string) => findSellerOfPayLink(db, payLinkId),

    /**
     * Reports the customer's progress. Ignores a refusal: the order has changed since, and its row shows how.
     * @throws Problem `service_unavailable` if it could not be reported, `not_found`
     */
    async report(
      orderId: string,
      event: ProgressEvent,
      { actor = 'customer', reason = null, paymentTerm }: ReportedBy = {},
    ): Promise<void> {
      try {
        const stored = await requireOrder(deps, orderId);
        await changeOrder(deps, stored, { event, reason, actor, paymentTerm, channel: 'hosted_checkout' });
      } catch (error) {
        if (!isProblem(error, 'transition_not_allowed')) throw error;
      }
    },

    /** Keeps an order from expiring before a time. */
    holdExpiry: (orderId: string, until: Date) => holdOrder(db, orderId, until),

    /** Records how the seller is paid, once. Sellers see it when the order is SUCCESSFUL. */
    recordSettlement: (orderId: string, settlement: Settlement) => recordSettlement(db, orderId, settlement),
  };
}
