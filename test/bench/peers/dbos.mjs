import { randomUUID } from 'node:crypto';
import { DBOS } from '@dbos-inc/dbos-sdk';
import Koa from 'koa';
import {
  createPool,
  INSERT_ORDER,
  readJson,
  ready,
  RECORD_ATTEMPT,
  SAVE_CHANGE,
  sendWebhook,
  webhookBody,
} from './shared.mjs';

/**
 * The order in DBOS, as its documentation advises: one workflow per order that receives messages, steps for what
 * touches the world, events for answers. The save is one statement that does nothing when it is repeated, as a step may
 * be: the registry has no data source package for this version of DBOS, which would save one commit per change. The
 * order's own workflow sends its webhooks between two changes, so a change would wait for a slow receiver. That is
 * cheaper than what the service does, and favours DBOS.
 */
const STATUSES = ['PENDING', 'APPROVED', 'SUCCESSFUL'];
const db = createPool();

const orderWorkflow = DBOS.registerWorkflow(
  async (orderId, url) => {
    for (const [index, status] of STATUSES.entries()) {
      const version = index + 1;
      let message = null;
      while (message === null) message = await DBOS.recv('change', { timeoutSeconds: 24 * 60 * 60 });
      const body = webhookBody(orderId, version, status);
      await DBOS.runStep(() => db.query(SAVE_CHANGE, [orderId, status, version, body]).then(() => null), {
        name: 'save',
      });
      await DBOS.setEvent('status', { status, version });
      await DBOS.setEvent(`version-${version}`, status);
      await DBOS.runStep(
        async () => {
          const code = await sendWebhook(url, orderId, version, body);
          await db.query(RECORD_ATTEMPT, [orderId, version, code]);
        },
        { name: 'webhook', retriesAllowed: true, maxAttempts: 10, intervalSeconds: 5, backoffRate: 5 },
      );
    }
  },
  { name: 'order' },
);

const app = new Koa();
app.use(async (ctx) => {
  const [, , id] = ctx.path.split('/');
  if (ctx.method === 'GET') {
    const event = await DBOS.getEvent(id, 'status', { timeoutSeconds: 0 });
    const { rows } = await db.query('select * from orders where id = $1', [id]);
    ctx.body = { data: { ...rows[0], ...event } };
  } else if (id === undefined) {
    const { amount, reference, webhook_url: url } = await readJson(ctx.req);
    const orderId = randomUUID();
    await db.query(INSERT_ORDER, [orderId, reference, amount, url ?? null]);
    await DBOS.startWorkflow(orderWorkflow, { workflowID: orderId })(orderId, url);
    ctx.status = 201;
    ctx.body = { data: { id: orderId } };
  } else {
    const { version } = await readJson(ctx.req);
    await DBOS.send(id, { version }, 'change');
    const status = await DBOS.getEvent(id, `version-${version}`, { timeoutSeconds: 30 });
    if (status === null) ctx.throw(503);
    ctx.body = { data: { id, status } };
  }
});

DBOS.setConfig({ name: 'bench', systemDatabaseUrl: process.env.SYSTEM_DATABASE_URL, logLevel: 'error' });
await DBOS.launch();
const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
