import { type ListedKey, createKey, listKeys, revokeKey } from '../db/api-keys';
import type { Db } from '../db/pool';
import { notFound } from './read-order';

export type { ListedKey };

/** Lists a seller's keys, oldest first, without those that are revoked. */
export async function listApiKeys({ db }: { db: Db }, sellerId: string): Promise<ListedKey[]> {
  return (await listKeys(db, sellerId)).filter(({ revokedAt }) => revokedAt === null);
}

/** @returns the key, which cannot be read again */
export async function createApiKey({ db }: { db: Db }, sellerId: string, label: string): Promise<string> {
  return (await createKey(db, sellerId, label)).key;
}

/** @throws Problem `not_found` if it is not one of the seller's */
export async function revokeApiKey({ db }: { db: Db }, sellerId: string, id: number): Promise<void> {
  if (!(await revokeKey(db, id, 'seller', sellerId))) throw notFound('API key', sellerId);
}
