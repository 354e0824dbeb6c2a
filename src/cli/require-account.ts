import { type Account, findAccount } from '../db/accounts';
import type { DbClient } from '../db/pool';
import { CliError } from './cli-error';

/** @throws CliError if the seller does not exist */
export async function requireAccount(db: DbClient, sellerId: string): Promise<Account> {
  const account = await findAccount(db, sellerId);
  if (!account) throw sellerNotFound(sellerId);
  return account;
}

export function sellerNotFound(id: string): CliError {
  return new CliError(`seller ${id} does not exist`);
}
