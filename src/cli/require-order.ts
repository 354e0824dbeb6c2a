import { type StoredOrder, findOrder } from '../db/find-orders';
import { CliError } from './cli-error';
import type { Services } from './services';

/** @throws CliError if the order does not exist */
export async function requireOrder({ db }: Services, id: string): Promise<StoredOrder> {
  const stored = await findOrder(db(), id);
  if (!stored) throw new CliError(`order ${id} does not exist`);
  return stored;
}
