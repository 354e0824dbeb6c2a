import { once } from 'node:events';
import type { Server } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from 'order-service-client';
import type { ProcessPart } from '../../src/entry-point';
import { PACKAGE_ROOT } from '../../src/package';
import type { DemoAccess } from './demo';

/** The preferred port. The examples in docs/ use 8080, so that both can run. */
export const SHOP_PORT = 8088;

type CreateShop = (options: { orders: ReturnType<typeof createClient>; webhookSecret: string; shopUrl: string }) => {
  listen(port: number, host: string): Server;
};

/** Serves the shop of examples/express with the demo seller's account. */
export async function serveShop(shopUrl: string, access: DemoAccess & { ORDERS_URL: string }): Promise<ProcessPart> {
  const file = pathToFileURL(path.join(PACKAGE_ROOT, 'examples/express/shop.mjs')).href;
  const { createShop } = (await import(file)) as { createShop: CreateShop };
  const { ORDERS_URL, SELLER_ID, SELLER_API_KEY, WEBHOOK_SECRET } = access;
  const orders = createClient({ baseUrl: ORDERS_URL, apiKey: SELLER_API_KEY, sellerId: SELLER_ID });
  const { hostname, port } = new URL(shopUrl);
  const server = createShop({ orders, webhookSecret: WEBHOOK_SECRET, shopUrl }).listen(Number(port), hostname);
  await once(server, 'listening');
  return {
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
