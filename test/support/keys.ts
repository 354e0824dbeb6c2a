import { createKey } from '../../src/db/api-keys';
import type { DbClient } from '../../src/db/pool';
import { type KeyRing, createKeyRing } from '../../src/encryption/key-ring';

/** Stores texts as they are. */
export const NO_KEYS: KeyRing = createKeyRing([]);

export async function createSellerKey(db: DbClient, sellerId: string): Promise<string> {
  return (await createKey(db, sellerId)).key;
}

export async function createCheckoutKey(db: DbClient): Promise<string> {
  return (await createKey(db, null)).key;
}
