import { createLookup, limitPerKey } from '../../concurrency';
import { unavailable } from '../../contracts/problem';
import type { OrderCore } from '../order-core';

/** Reads that pages of one seller's orders can make at the same time; further ones wait. Each uses up to three connections. */
const READS_AT_ONCE = 3;
/** The customer still sees a page, and the flood that causes the wait does not pile up. */
const MAX_WAIT_MS = 10_000;

/**
 * The reads from Postgres for pages. Sellers have many orders, and each has a limit of its own, so somebody who opens the
 * pages of all of a seller's orders could otherwise use all connections.
 */
export function createPageReads(core: Pick<OrderCore, 'findSeller'>, maxWaitMs = MAX_WAIT_MS) {
  const sellers = limitPerKey(READS_AT_ONCE, maxWaitMs, unavailable("Too many pages of the seller's orders are open."));
  const lookUp = createLookup(
    (payLinkId) => core.findSeller(payLinkId),
    maxWaitMs,
    unavailable('Too many pages are open.'),
  );
  // Customers are not refused for others on their network, but who floods only holds up the own one.
  const networks = limitPerKey(1, maxWaitMs, unavailable('Too many pages are open.'));
  return {
    /**
     * Returns the seller of the order with a pay link, or undefined if there is none.
     * @throws Problem `service_unavailable` if its turn does not come in time
     */
    sellerOf: (payLinkId: string, network: string) => lookUp(payLinkId, (run) => networks.run(network, run)),

    /**
     * Runs a read in its seller's turn. It must not run another one.
     * @throws Problem `service_unavailable` if its turn does not come in time
     */
    run: <T>(sellerId: string, read: () => Promise<T>): Promise<T> => sellers.run(sellerId, read),
  };
}
