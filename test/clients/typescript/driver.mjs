// The calls of a shop with the types of openapi-typescript and the client openapi-fetch. tsc checks them.
import { readFile } from 'node:fs/promises';
import createClient from 'openapi-fetch';

const { BASE_URL: baseUrl = '', SELLER_ID = '', SELLER_API_KEY, REFERENCE = '' } = process.env;
const { MISSING_ORDER_ID = '', TIMELINE_ORDER_ID = '' } = process.env;

/** @type {import('openapi-fetch').Client<import('./schema.d.ts').paths>} */
const client = createClient({ baseUrl, headers: { Authorization: `Bearer ${SELLER_API_KEY}` } });
const BASE = '/api/lending/edge/ecommerce';
const seller = { supplier_uuid: SELLER_ID };

/** @param {string} call @param {() => Promise<object>} run */
async function drive(call, run) {
  const result = await run().catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify({ call, ...result }));
}

/** @type {import('./schema.d.ts').components['schemas']['CreateOrderRequest']} */
const order = {
  data: {
    amount: 200000.01,
    reference: REFERENCE,
    allowed_payment_terms: ['PAY_LATER'],
    redirect_url: 'https://shop.example/thank-you',
    meta_data: { basket: 'b-17' },
  },
};

/** @param {typeof order} body @param {string} key */
const create = (body, key) =>
  client.POST(`${BASE}/seller/{supplier_uuid}/order/`, {
    params: { path: seller, header: { 'Idempotency-Key': key } },
    body,
  });

let id = '';
await drive('create', async () => {
  const { data, response } = await create(order, REFERENCE);
  if (!data) throw new Error(`no order: ${response.status}`);
  id = data.data.id;
  const { amount, status, allowed_payment_terms } = data.data;
  return { status: response.status, id, amount, order_status: status, allowed_payment_terms };
});
await drive('duplicate', async () => {
  const { error, response } = await create(order, `${REFERENCE}-2`);
  return {
    status: response.status,
    code: error?.code,
    order_id: error?.order_id,
    order_amount: error?.order_amount,
  };
});
await drive('invalid', async () => {
  const url = 'https://user:password@shop.example/';
  const data = { ...order.data, amount: 12.345, webhook_url: url, redirect_url: url };
  const { error, response } = await create({ data }, `${REFERENCE}-3`);
  const errors = error?.errors.map(({ code, pointer }) => `${pointer} ${code}`);
  return { status: response.status, code: error?.code, errors };
});
await drive('not_found', async () => {
  const { error, response } = await client.GET(`${BASE}/order/{order_id}/`, {
    params: { path: { order_id: MISSING_ORDER_ID } },
  });
  return { status: response.status, code: error?.code };
});
await drive('retrieve', async () => {
  const { data, response } = await client.GET(`${BASE}/order/{order_id}/`, { params: { path: { order_id: id } } });
  return { status: response.status, amount: data?.data.amount, meta_data: data?.data.meta_data };
});
await drive('list', async () => {
  const { data, response } = await client.GET(`${BASE}/seller/{supplier_uuid}/order/`, {
    params: {
      path: seller,
      query: { reference: REFERENCE, status: 'CREATED', created_from: '2026-01-01T00:00:00Z', limit: 10 },
    },
  });
  const amounts = data?.data.map(({ amount }) => amount);
  return { status: response.status, amounts, next_cursor: data?.next_cursor };
});
await drive('cancel', async () => {
  const { data, response } = await client.DELETE(`${BASE}/order/{order_id}/`, { params: { path: { order_id: id } } });
  const { amount, status, cancelled_at = '' } = data?.data ?? {};
  return { status: response.status, amount, order_status: status, cancelled_at: new Date(cancelled_at).getTime() };
});
await drive('timeline', async () => {
  const { data, response } = await client.GET(`${BASE}/order/{order_id}/timeline/`, {
    params: { path: { order_id: TIMELINE_ORDER_ID } },
  });
  const entries = data?.data.map((entry) => {
    if (entry.type === 'change') return `${entry.type} ${entry.to}`;
    if (entry.type === 'refusal') return `${entry.type} ${entry.event}`;
    return `${entry.type} ${entry.status}`;
  });
  return { status: response.status, entries };
});
await drive('webhook', async () => {
  /** @type {import('./schema.d.ts').components['schemas']['OrderStatusChanged']} */
  const { type, data } = JSON.parse(await readFile('webhook.json', 'utf8'));
  const { order: changed, previous_status, sequence } = data;
  return { type, amount: changed.amount, order_status: changed.status, previous_status, sequence };
});
