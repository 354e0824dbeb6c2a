import { once } from 'node:events';
import type { Server } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { OrderServiceClient } from 'order-service-client';
import type { ProcessPart } from '../../src/entry-point';
import { PACKAGE_ROOT } from '../../src/package';

/** The preferred port. The examples in docs/ use 8080, so that both can run. */
export const SHOP_PORT = 8088;

type CreateShop = (options: { orders: OrderServiceClient; webhookSecret: string; shopUrl: string }) => {
  listen(port: number, host: string): Server;
};

/** Serves the shop of examples/express with the demo seller's account. */
export async function serveShop(
  shopUrl: string,
  orders: OrderServiceClient,
  webhookSecret: string,
): Promise<ProcessPart> {
  const file = pathToFileURL(path.join(PACKAGE_ROOT, 'examples/express/shop.mjs')).href;
  const { createShop } = (await import(file)) as { createShop: CreateShop };
  const { hostname, port } = new URL(shopUrl);
  const server = createShop({ orders, webhookSecret, shopUrl }).listen(Number(port), hostname);
  await once(server, 'listening');
  return {
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
