import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import { createPool, INSERT_ORDER, readJson, ready } from './shared.mjs';

/** Koa with one statement per request: the least that an API on Postgres costs. `/bare` answers without Postgres. */
const db = createPool();
const app = new Koa();

app.use(async (ctx) => {
  if (ctx.path === '/bare') {
    await readJson(ctx.req);
    ctx.body = { data: { id: randomUUID() } };
  } else if (ctx.method === 'POST') {
    const { amount, reference, webhook_url: url } = await readJson(ctx.req);
    const id = randomUUID();
    await db.query(INSERT_ORDER, [id, reference, amount, url ?? null]);
    ctx.status = 201;
    ctx.body = { data: { id } };
  } else {
    const { rows } = await db.query('select * from orders where id = $1', [ctx.path.slice('/order/'.length)]);
    if (rows.length > 0) ctx.body = { data: rows[0] };
  }
});

const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
