import { Problem } from '../contracts/problem';

/**
 * The same response for a missing resource and for one of another seller.
 * @param sellerId the seller whose key was used
 */
export function notFound(what: string, sellerId?: string): Problem {
  const detail =
    sellerId === undefined
      ? `No ${what} has this ID.`
      : `The key belongs to the seller ${sellerId}, which has no ${what} with this ID.`;
  return new Problem('not_found', detail);
}
