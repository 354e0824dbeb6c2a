import { randomUUID } from 'node:crypto';
import { digestOf } from '../../src/db/api-keys';
import { createCheckoutKey, createSellerKey } from '../../src/db/sellers';
import type { Whose } from './authorization-matrix';
import type { Stack, TestSeller } from './stack';
import { createSeller } from './stack';
import { openOrder } from './orders';
import { until } from './until';
import { apiOf } from './api';

/** What the parameters of a path name. */
export interface Things {
  sellerId: string;
  orderId: string;
  payLinkId: string;
  eventId: string;
}

/** Keys, by what they are; all but the first two are refused everywhere. */
export async function keysOf({ db, api, seller }: Stack): Promise<Record<string, string | null>> {
  const revoked = { seller: await createSellerKey(db, seller.id), checkout: await createCheckoutKey(db) };
  for (const key of Object.values(revoked)) {
    await db.query('update api_key set revoked_at = now() where digest = $1', [digestOf(key)]);
  }
  const disabled = await createSeller(db);
  await db.query('update seller set disabled_at = now() where id = $1', [disabled.id]);
  return {
    seller: seller.key,
    checkout: api.checkoutKey,
    none: null,
    empty: '',
    unknown: `sk_${randomUUID()}`,
    'almost right': seller.key.slice(0, -1) + (seller.key.endsWith('A') ? 'B' : 'A'),
    'digest of a': digestOf(seller.key).toString('hex'),
    'revoked seller': revoked.seller,
    'revoked checkout': revoked.checkout,
    'disabled seller': disabled.key,
  };
}

/** A seller's order with a webhook that was given up. */
export async function thingsOf(stack: Stack, { id, key }: TestSeller): Promise<Things> {
  const api = apiOf(stack.api.url, { id, key }, stack.api.checkoutKey);
  const orderId = await openOrder({ ...stack, api }, { webhook_url: 'http://127.0.0.1:9/' }, ['failed']);
  const eventId = await until(async () => {
    const { rows } = await stack.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [
      orderId,
    ]);
    return rows[0]?.id;
  }, 'it has a webhook');
  const { pay_link_id: payLinkId } = (await api.get(orderId)).body.data;
  return { sellerId: id, orderId, payLinkId, eventId };
}

export function missingThings(): Things {
  return { sellerId: randomUUID(), orderId: randomUUID(), payLinkId: randomUUID(), eventId: randomUUID() };
}

const NO_ID = 'not-an-id';
export const MALFORMED: Things = { sellerId: NO_ID, orderId: NO_ID, payLinkId: NO_ID, eventId: NO_ID };

/** The path of a route, all its parameters the caller's own but `parameter`. */
export function pathOf(route: string, things: Record<Whose, Things>, whose: Whose, parameter: string): string {
  const [, path = ''] = route.split(' ');
  const fill = (name: string): string => things[name === parameter ? whose : 'own'][name as keyof Things];
  return `${path.replace(/:(\w+)/g, (_, name: string) => fill(name))}/`;
}
