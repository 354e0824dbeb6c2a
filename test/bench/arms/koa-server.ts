import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import pg from 'pg';
import { INSERT_ORDER } from './bare-activities';

// The program behind `startKoa`. `/bare` answers without Postgres.

/** The same number of connections as the service has by default. */
const db = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const app = new Koa();

interface NewOrder {
  amount: number;
  reference: string;
}

async function readJson(request: AsyncIterable<Buffer>): Promise<NewOrder> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as NewOrder;
}

app.use(async (ctx) => {
  if (ctx.path === '/bare') {
    await readJson(ctx.req);
    ctx.body = { data: { id: randomUUID() } };
  } else if (ctx.method === 'POST') {
    const { amount, reference } = await readJson(ctx.req);
    const id = randomUUID();
    await db.query(INSERT_ORDER, [id, reference, amount, null]);
    ctx.status = 201;
    ctx.body = { data: { id } };
  } else {
    const { rows } = await db.query('select * from orders where id = $1', [ctx.path.slice('/order/'.length)]);
    if (rows.length > 0) ctx.body = { data: rows[0] as unknown };
  }
});

const server = app.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
// It ends with the bench.
process.on('disconnect', () => process.exit(0));
