import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Servers } from '../servers';
import { startChild } from './child';
import { createArmDatabase } from './database';
import { type Answer, expectStatus, httpClient } from './http';

/** Koa with one statement for each request: the least that an API on Postgres costs. */
interface KoaArm {
  create: () => Promise<string>;
  read: (orderId: string) => Promise<Answer>;
  /** An answer without Postgres. */
  bare: () => Promise<Answer>;
}

export async function startKoa(servers: Servers): Promise<KoaArm> {
  const database = await createArmDatabase(servers, 'koa');
  const child = await startChild(path.join(__dirname, 'koa-server.js'), { DATABASE_URL: database.url });
  const http = httpClient(child.ready.port!);
  const newOrder = () => ({ body: { amount: 123_450, reference: randomUUID() } });
  return servers.track({
    create: async () => expectStatus(await http.call('POST', '/order', newOrder()), 201).body.data!.id!,
    read: (orderId: string) => http.call('GET', `/order/${orderId}`),
    bare: () => http.call('POST', '/bare', newOrder()),
    async stop() {
      await http.close();
      await child.stop();
      await database.close();
    },
  });
}
