import { type Account, findAccount } from '../db/accounts';
import { type StoredOrder, findOrder, findOrderIds, findOrdersById } from '../db/find-orders';
import { penceToPounds } from '../domain/money';
import { isUuid } from '../domain/uuid';
import { AmbiguousError, CliError } from './cli-error';
import type { Services } from './services';

/** Of an ambiguous reference. */
const MAX_LISTED = 20;

/** @throws CliError if the seller does not exist */
export async function requireAccount({ db }: Services, sellerId: string): Promise<Account> {
  const account = await findAccount(db(), sellerId);
  if (!account) throw sellerNotFound(sellerId);
  return account;
}

export function sellerNotFound(id: string): CliError {
  return new CliError(`seller ${id} does not exist`);
}

/**
 * Finds one order.
 * @param text its id or its reference
 * @throws CliError if there is none, or AmbiguousError with the orders that have the reference
 */
export async function requireOrder(services: Services, text: string): Promise<StoredOrder> {
  const db = services.db();
  const ids = await requireOrderIds(services, text);
  const orders = await findOrdersById(db, ids.slice(0, MAX_LISTED));
  if (ids.length === 1 && orders[0]) return orders[0];
  const rows = orders
    .sort((one, other) => other.createdAt.localeCompare(one.createdAt))
    .map((order) => ({
      id: order.id,
      seller_name: order.sellerName,
      amount: penceToPounds(order.amountPence),
      status: order.status,
      created_at: order.createdAt,
    }));
  throw new AmbiguousError(`${ids.length} orders have the reference ${text}: pass the id of one`, rows);
}

/**
 * Finds orders by their id or their reference, newest first.
 * @throws CliError if there is none
 */
export async function requireOrderIds({ db }: Services, text: string): Promise<string[]> {
  const order = isUuid(text) ? await findOrder(db(), text) : undefined;
  const ids = order ? [order.id] : await findOrderIds(db(), text.normalize('NFC'));
  if (ids.length === 0) throw new CliError(`order ${text} does not exist`);
  return ids;
}
