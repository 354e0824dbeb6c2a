import { createKey } from '../../src/db/api-keys';
import type { DbClient } from '../../src/db/pool';

export async function createSellerKey(db: DbClient, sellerId: string): Promise<string> {
  return (await createKey(db, { kind: 'seller', sellerId })).key;
}

export async function createCheckoutKey(db: DbClient): Promise<string> {
  return (await createKey(db, { kind: 'checkout' })).key;
}
