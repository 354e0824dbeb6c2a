import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Db } from '../../src/db/pool';
import {
  createCheckoutKey,
  createSellerKey,
  findCaller,
  insertSeller,
  insertWebhookSecret,
  liveWebhookSecrets,
} from '../../src/db/sellers';
import { generateWebhookSecret } from '../../src/webhooks/sign';

/** What a newcomer needs to try the service; kept in `.data/demo.env`, since Postgres has digests only. */
export interface DemoAccess {
  SELLER_ID: string;
  SELLER_API_KEY: string;
  CHECKOUT_API_KEY: string;
  WEBHOOK_SECRET: string;
}

const NAMES = ['SELLER_ID', 'SELLER_API_KEY', 'CHECKOUT_API_KEY', 'WEBHOOK_SECRET'] as const;

/** The demo seller of an earlier start where its keys are still good, with its secret as it is now; else a new one. */
export async function demoSeller(db: Db, envFile: string): Promise<DemoAccess> {
  const kept = await readEnv(envFile);
  if (kept && (await findCaller(db, kept.SELLER_API_KEY)) && (await findCaller(db, kept.CHECKOUT_API_KEY))) {
    // The newest one outlives those that it was rotated in for.
    const [newest] = await liveWebhookSecrets(db, kept.SELLER_ID);
    if (newest !== undefined) return { ...kept, WEBHOOK_SECRET: newest };
  }
  const id = randomUUID();
  await insertSeller(db, { id, name: 'Demo Shop Ltd', defaultRedirectUrl: 'https://shop.example/thank-you' });
  const secret = generateWebhookSecret();
  await insertWebhookSecret(db, id, secret);
  return {
    SELLER_ID: id,
    SELLER_API_KEY: await createSellerKey(db, id),
    CHECKOUT_API_KEY: await createCheckoutKey(db),
    WEBHOOK_SECRET: secret,
  };
}

async function readEnv(file: string): Promise<DemoAccess | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const values = new Map(text.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
  const entries = NAMES.map((name) => [name, values.get(name)] as const);
  return entries.every(([, value]) => value) ? (Object.fromEntries(entries) as unknown as DemoAccess) : undefined;
}

/** Readable by this user alone: it holds keys. */
export async function writeEnv(file: string, values: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(file, lines.join(''), { mode: 0o600 });
}

/** Three commands that work when pasted, in this order. */
export function curlCommands(ordersUrl: string, access: DemoAccess, dataDir: string): string[] {
  const base = `${ordersUrl}/api/lending/edge/ecommerce`;
  const auth = `-H 'Authorization: Bearer ${access.SELLER_API_KEY}'`;
  const file = `'${dataDir}/order.json'`;
  const orderId = `$(sed 's/.*"id":"\\([^"]*\\).*/\\1/' ${file})`;
  return [
    `curl -s ${base}/seller/${access.SELLER_ID}/order/ ${auth} -H 'Content-Type: application/json' ` +
      `-d '{"data":{"amount":1234.50,"reference":"demo-'$(date +%s)'"}}' | tee ${file}; echo`,
    `curl -s ${base}/order/${orderId}/ ${auth}; echo`,
    `curl -s -X DELETE ${base}/order/${orderId}/ ${auth}; echo`,
  ];
}

/**
 * Creates an order to try the checkout with.
 * @param uiUrl of Temporal's UI, where its customer lands in the end: at the order's workflow; '' for none
 * @returns its `order_url`
 */
export async function demoOrder(ordersUrl: string, access: DemoAccess, uiUrl: string): Promise<string> {
  const reference = `checkout-${Date.now()}`;
  const query = encodeURIComponent(`OrderReference="${reference}"`);
  const response = await fetch(`${ordersUrl}/api/lending/edge/ecommerce/seller/${access.SELLER_ID}/order/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${access.SELLER_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      data: {
        amount: 1234.5,
        reference,
        ...(uiUrl !== '' && { redirect_url: `${uiUrl}/namespaces/default/workflows?query=${query}` }),
      },
    }),
  });
  if (!response.ok) throw new Error(`the demo order was answered ${response.status}: ${await response.text()}`);
  const { data } = (await response.json()) as { data: { order_url: string } };
  return data.order_url;
}
