import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as restate from '@restatedev/restate-sdk';
import { createPool, INSERT_ORDER, ready, RECORD_ATTEMPT, SAVE_CHANGE, sendWebhook, webhookBody } from './shared.mjs';

/**
 * The order in Restate, as its documentation advises: a virtual object per order, whose handlers run one at a time,
 * side effects in `ctx.run`, and webhooks by one-way calls to a second object with the same key, which keeps their
 * order. Callers use Restate's own HTTP ingress. The server runs with its default settings, which flush each write to
 * disk.
 */
// The SDK uses it, and Node 20 does not have it.
Promise.withResolvers ??= function () {
  let settle;
  const promise = new this((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
};
const STATUSES = ['PENDING', 'APPROVED', 'SUCCESSFUL'];
const db = createPool();

const webhooks = restate.object({
  name: 'webhooks',
  handlers: {
    send: (ctx, { url, version, body }) =>
      ctx.run('webhook', async () => {
        const code = await sendWebhook(url, ctx.key, version, body);
        await db.query(RECORD_ATTEMPT, [ctx.key, version, code]);
      }),
  },
});

const orders = restate.object({
  name: 'orders',
  handlers: {
    async create(ctx, { amount, reference, webhook_url: url }) {
      await ctx.run('insert', () =>
        db.query(INSERT_ORDER + ' on conflict do nothing', [ctx.key, reference, amount, url ?? null]).then(() => null),
      );
      ctx.set('order', { url, version: 0, status: 'CREATED' });
      return { id: ctx.key };
    },
    async change(ctx) {
      const order = await ctx.get('order');
      const version = order.version + 1;
      const status = STATUSES[order.version];
      const body = webhookBody(ctx.key, version, status);
      await ctx.run('save', () => db.query(SAVE_CHANGE, [ctx.key, status, version, body]).then(() => null));
      ctx.set('order', { ...order, version, status });
      ctx.objectSendClient(webhooks, ctx.key).send({ url: order.url, version, body });
      return { status };
    },
    get: restate.handlers.object.shared((ctx) => ctx.get('order')),
  },
});

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const [service, ingress, admin, node] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
await restate.serve({ services: [orders, webhooks], port: service });
const bin = path.join(
  path.dirname(createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json')),
  '../../.bin/restate-server',
);
const server = spawn(bin, ['--base-dir', process.env.DATA_DIR, '--no-logo', '--listen-mode', 'tcp'], {
  env: {
    PATH: process.env.PATH,
    HOME: process.env.DATA_DIR,
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_BIND_PORT: String(node),
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_INGRESS__BIND_PORT: String(ingress),
    RESTATE_ADMIN__BIND_PORT: String(admin),
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_FILTER: 'off',
  },
  stdio: ['ignore', 'ignore', 'inherit'],
});
const stop = () => {
  server.kill('SIGTERM');
  server.once('exit', () => process.exit(0));
};
process.on('SIGTERM', stop);
process.on('disconnect', stop);

for (let tries = 0; ; tries++) {
  const registered = await fetch(`http://127.0.0.1:${admin}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${service}` }),
  }).catch(() => undefined);
  if (registered?.ok) break;
  if (tries > 100) throw new Error(`Restate did not accept the deployment: ${await registered?.text()}`);
  await delay(200);
}
ready(ingress);
