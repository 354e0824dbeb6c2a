import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import PgBoss from 'pg-boss';
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
 * Webhooks by pg-boss, as its documentation advises: the job is inserted in the transaction of the save, workers fetch
 * jobs in batches at the shortest polling interval. Unlike the service, it keeps no order among an order's webhooks.
 */
const STATUSES = ['PENDING', 'APPROVED', 'SUCCESSFUL'];
const QUEUE = 'webhooks';
/** The number of workers; each sends one webhook at a time. */
const WORKERS = 10;
const db = createPool();
const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, max: 10 });
boss.on('error', () => undefined);
await boss.start();
await boss.createQueue(QUEUE, { name: QUEUE, retryLimit: 9, retryDelay: 5, retryBackoff: true });
for (let worker = 0; worker < WORKERS; worker++) {
  await boss.work(QUEUE, { batchSize: 1, pollingIntervalSeconds: 0.5 }, async ([{ data }]) => {
    const code = await sendWebhook(data.url, data.orderId, data.version, data.body);
    await db.query(RECORD_ATTEMPT, [data.orderId, data.version, code]);
  });
}

const app = new Koa();
app.use(async (ctx) => {
  const [, , id] = ctx.path.split('/');
  const input = await readJson(ctx.req);
  if (id === undefined) {
    const orderId = randomUUID();
    await db.query(INSERT_ORDER, [orderId, input.reference, input.amount, input.webhook_url ?? null]);
    ctx.status = 201;
    ctx.body = { data: { id: orderId } };
    return;
  }
  const client = await db.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query('select webhook_url from orders where id = $1 for update', [id]);
    const status = STATUSES[input.version - 1];
    const body = webhookBody(id, input.version, status);
    await client.query(SAVE_CHANGE, [id, status, input.version, body]);
    const executor = { executeSql: (text, values) => client.query(text, values) };
    await boss.send(QUEUE, { url: rows[0].webhook_url, orderId: id, version: input.version, body }, { db: executor });
    await client.query('commit');
    ctx.body = { data: { id, status } };
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
});
const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
