import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Servers } from '../servers';
import { startChild } from './child';
import { PEERS, createArmDatabase } from './database';
import { type Answer, expectStatus, httpClient } from './http';
import type { OrderArm } from './order-arm';

/** A file of test/bench/peers: a program of its own that offers orders over HTTP. */
interface Peer extends OrderArm {
  read: (orderId: string) => Promise<Answer>;
  /** An answer without Postgres. Only `koa-pg` has it. */
  bare: () => Promise<Answer>;
}

type PeerName = 'koa-pg' | 'dbos' | 'restate' | 'pg-boss';

export async function startPeer(servers: Servers, name: PeerName): Promise<Peer> {
  const database = await createArmDatabase(servers, name.replace('-', '_'));
  const system = name === 'dbos' ? await createArmDatabase(servers, 'dbos_system', 'none') : undefined;
  const dataDir = path.join(servers.dataDir, `${name}-${randomUUID()}`);
  mkdirSync(dataDir);
  const child = await startChild(path.join(PEERS, `${name}.mjs`), {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    ...(system && { SYSTEM_DATABASE_URL: system.url }),
  });
  const http = httpClient(child.ready.port!);
  const paths = name === 'restate' ? RESTATE_PATHS : HTTP_PATHS;
  return servers.track({
    database: database.name,
    systemDatabase: system?.name,
    pids: { [name]: child.pid },
    async create(url) {
      const id = randomUUID();
      const body = { amount: 123_450, reference: randomUUID(), webhook_url: url };
      const answer = await http.call('POST', paths.create(id), { body });
      return expectStatus(answer, name === 'restate' ? 200 : 201).body.data?.id ?? id;
    },
    async change(orderId, version) {
      expectStatus(await http.call('POST', paths.change(orderId), { body: { version } }), 200);
    },
    read: (orderId) => http.call('GET', paths.read(orderId)),
    bare: () => http.call('POST', '/bare', { body: { amount: 123_450, reference: randomUUID() } }),
    async stored() {
      const { rows } = await database.db.query<{ orders: number; delivered: number }>(
        `select (select count(*)::int from orders) as orders,
           (select count(*)::int from webhook_event where state = 'delivered') as delivered`,
      );
      const workflows = await system?.db.query<{ count: number }>('select count(*)::int from dbos.workflow_status');
      return { ...rows[0]!, workflows: workflows?.rows[0]!.count };
    },
    async stop() {
      await http.close();
      await child.stop();
      await database.close();
      await system?.close();
    },
  });
}

const HTTP_PATHS = {
  create: () => '/order',
  change: (orderId: string) => `/order/${orderId}`,
  read: (orderId: string) => `/order/${orderId}`,
};

/** Restate's ingress: service, key, handler. */
const RESTATE_PATHS = {
  create: (orderId: string) => `/orders/${orderId}/create`,
  change: (orderId: string) => `/orders/${orderId}/change`,
  read: (orderId: string) => `/orders/${orderId}/get`,
};
