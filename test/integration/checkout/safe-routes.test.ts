import { randomUUID } from 'node:crypto';
import { findLastPayment } from '../../../src/checkout/db/payments';
import { BASE } from '../../support/api';
import { newCustomer, statusOfOrder, useCheckout } from '../../support/checkout';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { createOrder, timelineOf } from '../../support/orders';
import { apiRoutes, checkoutRoutes } from '../../support/routes';
import { withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

/** Nothing changes by itself: no worker runs while the routes are called. */
const stack = useCheckout();
afterEach(async () => {
  await stack.stopWorker();
  await stack.startWorker();
});

/** What the database holds, table by table, and how far the workflows are. */
async function snapshot(ids: readonly string[]): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const { rows: tables } = await stack.db.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  );
  for (const { name } of tables) {
    // A key's use is recorded, whatever it is used for.
    const { rows } = await stack.db.query<{ row: string }>(
      `select (to_jsonb(t) - 'last_used_at')::text as row from "${name}" t order by 1`,
    );
    found[name] = rows.map(({ row }) => row);
  }
  for (const id of ids.flatMap((orderId) => [`order-${orderId}`, `checkout-${orderId}`])) {
    const run = await stack.client.workflow
      .getHandle(id)
      .describe()
      .catch(() => undefined);
    found[id] = run && [run.runId, run.historyLength];
  }
  return found;
}

const lastPayment = async (id: string) => (await findLastPayment(stack.db, id))!;

/** Orders whose checkout has something to ask or to change as soon as somebody does. */
async function preparedOrders() {
  const create = () => newCustomer(stack);
  const [created, paid, left] = [await create(), await create(), await create()];
  const [acting, closed] = [await create(), await create()];
  const banks = await Promise.all([paid, left, closed].map(({ customer }) => customer.startPayment()));
  await acting.customer.apply({ email: 'verify@example.com' });
  const acts = async () => {
    const { rows } = await stack.db.query('select action_url as url from application where order_id = $1', [acting.id]);
    return (rows as { url: string | null }[])[0]?.url;
  };
  await until(acts, 'the customer has to act at the lender');
  await stack.stopWorker();
  // The bank knows, and the service does not yet.
  await paid.customer.leaveAtBank(banks[0]!, 'approved');
  await closed.customer.leaveAtBank(banks[2]!, 'approved');
  const { id: payment } = await lastPayment(left.id);
  const age = "started_at = now() - interval '16 minutes'";
  await stack.db.query(`update sandbox_payment set ${age} where id = $1`, [payment]);
  await stack.db.query(`update payment set ${age} where id = $1`, [payment]);
  // As if the seller had cancelled it: its payment has to go back.
  await stack.db.query(`update orders set status = 'UNSUCCESSFUL', version = 3 where id = $1`, [closed.id]);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 3, 'cancel', 'PENDING', 'UNSUCCESSFUL', 'seller', 'api', now())`,
    [closed.id],
  );
  return { orders: [created, paid, left, acting, closed], payments: [payment, (await lastPayment(paid.id)).id] };
}

test('no GET or HEAD of any route changes anything for a browser without a cookie, or for a key', async () => {
  const { orders, payments } = await preparedOrders();
  const { rows: webhooks } = await stack.db.query<{ id: string }>('select id from webhook_event');
  const values: Record<string, string[]> = {
    payLinkId: orders.map(({ url }) => new URL(url).pathname.split('/')[2]!),
    paymentId: payments,
    orderId: orders.map(({ id }) => id),
    supplierUuid: [stack.seller.id],
    name: ['privacy'],
  };
  const other = [randomUUID(), ...webhooks.map(({ id }) => id)];
  const routes = [...checkoutRoutes(), ...apiRoutes().flatMap((route) => [route, route.replace(/^GET /, 'HEAD ')])];
  const safe = [...new Set(routes)].filter((route) => /^(GET|HEAD) /.test(route));
  expect(safe.filter((route) => route.includes('/pay/:payLinkId/return')).length).toBeGreaterThan(1);
  const ids = orders.map(({ id }) => id);
  // The API adds what it has counted every few seconds.
  const counted = 'select from account_usage where orders = (select count(*) from orders)';
  await until(async () => (await stack.db.query(counted)).rowCount === 1, 'all orders are counted');
  const before = await snapshot(ids);
  let answered = 0;
  for (const route of safe) {
    const [method, path] = route.split(' ') as [string, string];
    const [, parameter] = /:(\w+)/.exec(path) ?? [];
    for (const value of parameter === undefined ? [''] : (values[parameter] ?? other)) {
      const url = stack.api.url + path.replace(/:\w+/, value).replace(/:\w+/g, orders[0]!.id).replace(/[{}*]/g, '');
      for (const key of path.startsWith('/pay') ? [undefined] : [undefined, stack.seller.key, stack.api.checkoutKey]) {
        const headers = key === undefined ? undefined : { Authorization: `Bearer ${key}` };
        const response = await fetch(url, { method, redirect: 'manual', ...(headers && { headers }) });
        await response.arrayBuffer();
        expect([route, response.status < 500]).toEqual([route, true]);
        if (response.status < 400) answered += 1;
      }
    }
  }
  expect(answered).toBeGreaterThan(safe.length);
  expect(await snapshot(ids)).toEqual(before);
});

test("a return in the applicant's browser asks the bank, and one in another browser shows that browser's page", async () => {
  const { id, url, customer } = await newCustomer(stack);
  const bankPage = await customer.startPayment();
  await stack.stopWorker();
  await customer.leaveAtBank(bankPage, 'approved');
  const elsewhere = await fetch(`${url}return/`, { redirect: 'manual' });
  expect([elsewhere.status, elsewhere.headers.get('Location')]).toEqual([303, new URL(url).pathname]);
  expect((await lastPayment(id)).status).toBe('pending');
  await stack.startWorker();
  await customer.look('return/');
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
  expect((await timelineOf(stack, id)).map(({ event }) => event).slice(-2)).toEqual(['approved', 'completed']);
});

test("the applicant's browser has the bank asked a few times in ten seconds, however often it returns", async () => {
  const { id, customer } = await newCustomer(stack);
  const bankPage = await customer.startPayment();
  await stack.stopWorker();
  for (let times = 0; times < 8; times++) await customer.look('return/');
  await customer.leaveAtBank(bankPage, 'approved');
  await customer.look('return/');
  expect((await lastPayment(id)).status).toBe('pending');
  await stack.startWorker();
  await until(async () => (await statusOfOrder(stack, id)) === 'SUCCESSFUL', 'the workflow has asked');
});

test('a bank that returns by a form of its page is taken as one that returns by a link', async () => {
  const { url, customer } = await newCustomer(stack);
  await customer.startPayment();
  const body = new URLSearchParams({ cres: 'x' });
  const response = await fetch(`${url}return/`, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: { Origin: 'https://bank.example', 'Sec-Fetch-Site': 'cross-site' },
  });
  expect([response.status, response.headers.get('Location')]).toEqual([303, `${new URL(url).pathname}return/`]);
});

test.each([')', ',', '.', ').', '/)', '.,/'])('a pasted link that ends with %s finds its order', async (end) => {
  const { url } = await newCustomer(stack);
  const pasted = url.replace(/\/$/, '') + end;
  const response = await fetch(pasted);
  expect([response.status, response.url]).toEqual([200, url]);
});

test("pages of a seller's many orders wait for each other, and leave connections to other sellers", async () => {
  await stack.stopWorker();
  const { api: other } = await withNewSeller(stack, { sandbox: true });
  const created = await Promise.all(Array.from({ length: 40 }, () => createOrder(stack.api)));
  const statusOf = async ({ order_url: url }: { order_url: string }) => (await fetch(url)).status;
  // No page of an order can be read meanwhile.
  const lock = await holdTransaction(stack.db, 'lock table application in access exclusive mode');
  const held = Promise.all(created.map(statusOf));
  await until(async () => (await statementsWaiting(stack.db)) === 3, 'three pages are being read');
  expect((await other.call('GET', `${BASE}/order/${created[0]!.id}/`)).status).toBe(404);
  expect((await other.create()).status).toBe(201);
  await lock.rollback();
  // A page gives up after some seconds.
  expect([200, 503]).toEqual(expect.arrayContaining(await held));
  for (const order of created) await until(async () => (await statusOf(order)) === 200, 'the page is shown');
});
