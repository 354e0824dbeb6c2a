import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import type { OrderServiceClient } from 'order-service-client';
import { saveBranding } from '../../src/checkout/db/branding';
import { findSeller, updateSeller, findCaller, insertSeller } from '../../src/db/sellers';
import { createKey } from '../../src/db/api-keys';
import type { Db } from '../../src/db/pool';
import { insertWebhookSecret, findCredentials } from '../../src/db/secrets';
import type { KeyRing } from '../../src/encryption/key-ring';
import { generateWebhookSecret } from '../../src/webhooks/sign';

/** The keys to try the service with. `.data/demo.env` keeps them, because Postgres stores only digests. */
export interface DemoAccess {
  SELLER_ID: string;
  SELLER_API_KEY: string;
  CHECKOUT_API_KEY: string;
  WEBHOOK_SECRET: string;
}

const NAMES = ['SELLER_ID', 'SELLER_API_KEY', 'CHECKOUT_API_KEY', 'WEBHOOK_SECRET'] as const;

/** The demo seller of the last start with its current webhook secret, or a new seller if a key no longer works. */
export async function demoSeller(db: Db, keys: KeyRing, envFile: string, shopUrl: string): Promise<DemoAccess> {
  const access = await findOrCreateSeller(db, keys, envFile);
  await setShop(db, access.SELLER_ID, shopUrl);
  return access;
}

async function findOrCreateSeller(db: Db, keys: KeyRing, envFile: string): Promise<DemoAccess> {
  const previous = await readEnv(envFile);
  if (
    previous &&
    (await findCaller(db, previous.SELLER_API_KEY)) &&
    (await findCaller(db, previous.CHECKOUT_API_KEY))
  ) {
    // A rotation replaces the older ones.
    const [newest] = (await findCredentials(db, keys, previous.SELLER_ID)).secrets;
    if (newest !== undefined) return { ...previous, WEBHOOK_SECRET: newest };
  }
  const id = randomUUID();
  await insertSeller(db, id, 'Demo Shop Ltd', true);
  // What the checkout shows of a shop: see its pages in examples/express.
  await saveBranding(db, id, { colour: '#8a3b12', contactEmail: 'help@demo-shop.example' });
  const secret = generateWebhookSecret();
  await insertWebhookSecret(db, keys, id, secret);
  return {
    SELLER_ID: id,
    SELLER_API_KEY: (await createKey(db, id)).key,
    CHECKOUT_API_KEY: (await createKey(db, null)).key,
    WEBHOOK_SECRET: secret,
  };
}

/** Every way back from the checkout leads to the shop, whose port can differ from the last start's. */
async function setShop(db: Db, sellerId: string, shopUrl: string): Promise<void> {
  const page = `${shopUrl}/return`;
  if ((await findSeller(db, sellerId))?.defaultRedirectUrl === page) return;
  await updateSeller(db, sellerId, { defaultRedirectUrl: page, defaultCancelUrl: page });
  await saveBranding(db, sellerId, { shopUrl: `${shopUrl}/` });
}

async function readEnv(file: string): Promise<DemoAccess | undefined> {
  const values = parseEnv(await readFile(file, 'utf8').catch(() => ''));
  const entries = NAMES.map((name) => [name, values[name]] as const);
  return entries.every(([, value]) => value) ? (Object.fromEntries(entries) as unknown as DemoAccess) : undefined;
}

/**
 * Writes a file that both `sh` and `node --env-file` can read, with access for this user only, because it contains
 * keys. Both take a text in single quotes as it is, but they have no common way to write a single quote in it. Only the
 * URLs can contain one, and in a URL `%27` means the same.
 */
export async function writeEnv(file: string, values: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(values).map(([name, value]) => `${name}='${value.replaceAll("'", '%27')}'\n`);
  await writeFile(file, lines.join(''), { mode: 0o600 });
}

/**
 * Creates an order to try the checkout with.
 * @param shopUrl of the shop that its customer returns to and that receives its webhooks
 * @returns the order's `order_url`
 */
export async function demoOrder(orders: OrderServiceClient, shopUrl: string): Promise<string> {
  const reference = `demo-${randomBytes(4).toString('hex')}`;
  return (await orders.create({ amount: 1234.5, reference, webhook_url: `${shopUrl}/webhook` })).order_url;
}
