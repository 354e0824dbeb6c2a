import { randomUUID } from 'node:crypto';
import { keyDigest } from '../../src/db/api-keys';
import { createCheckoutKey, createSellerKey } from './keys';
import type { Whose } from './authorization-matrix';
import { type SharedStack, type TestSeller, createSeller } from './stack';
import { openOrder } from './orders';
import { until } from './until';
import { apiOf } from './api';

/** The ids that a path's parameters can refer to. */
export interface Things {
  sellerId: string;
  orderId: string;
  payLinkId: string;
  webhookId: string;
}

/** API keys by kind. Every route rejects all kinds except `seller` and `checkout`. */
export async function keysOf({ db, api, seller }: SharedStack): Promise<Record<string, string | null>> {
  const revoked = { seller: await createSellerKey(db, seller.id), checkout: await createCheckoutKey(db) };
  for (const key of Object.values(revoked)) {
    await db.query('update api_key set revoked_at = now() where digest = $1', [keyDigest(key)]);
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
    'digest of a': keyDigest(seller.key).toString('hex'),
    'revoked seller': revoked.seller,
    'revoked checkout': revoked.checkout,
    'disabled seller': disabled.key,
  };
}

/** Creates an order of a seller, with a webhook event whose receiver refuses connections. */
export async function thingsOf(stack: SharedStack, { id, key }: TestSeller): Promise<Things> {
  const api = apiOf(stack.api.url, { id, key }, stack.api.checkoutKey);
  const orderId = await openOrder({ ...stack, api }, { webhook_url: 'http://127.0.0.1:9/' }, ['failed']);
  const webhookId = await until(async () => {
    const { rows } = await stack.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [
      orderId,
    ]);
    return rows[0]?.id;
  }, 'the order has a webhook event');
  const { pay_link_id: payLinkId } = (await api.get(orderId)).body.data;
  return { sellerId: id, orderId, payLinkId, webhookId };
}

export function missingThings(): Things {
  return { sellerId: randomUUID(), orderId: randomUUID(), payLinkId: randomUUID(), webhookId: randomUUID() };
}

const NO_ID = 'not-an-id';
export const MALFORMED: Things = { sellerId: NO_ID, orderId: NO_ID, payLinkId: NO_ID, webhookId: NO_ID };

/** Fills in a route's path: `parameter` with an id of kind `whose`, all others with the caller's own ids. */
export function pathOf(route: string, things: Record<Whose, Things>, whose: Whose, parameter: string): string {
  const [, path = ''] = route.split(' ');
  const fill = (name: string): string => things[name === parameter ? whose : 'own'][name as keyof Things];
  return `${path.replace(/:(\w+)/g, (_, name: string) => fill(name))}/`;
}
