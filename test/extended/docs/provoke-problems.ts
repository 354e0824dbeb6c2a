import type { ProblemCode } from '../../../src/contracts/problem-table';
import { freePort } from '../../../tools/local-stack/ports';
import { POOL_TIMEOUTS } from '../../../src/db/pool';
import { MAX_ACTIVE_SECRETS } from '../../../src/db/secrets';
import { type ApiResponse, BASE } from '../../support/api';
import { constants } from '../../support/constants';
import { holdTransaction } from '../../support/database';
import { openOrder } from '../../support/orders';
import type { Stack } from '../../support/stack';
import { withApi } from '../../support/with-api';

const ORDER = { amount: 1234.5, reference: '10042' };
const ORDER_PATH = '/order/5f0c7f2e-6a3b-4a57-9a62-0c9d1e8b7a31/';

/** Provokes each error with a real HTTP request. The responses are the examples of the OpenAPI document. */
export const PROVOCATIONS: Record<ProblemCode, (stack: Stack) => Promise<ApiResponse>> = {
  malformed_json: ({ api }) => api.create({}, { body: '{"data": {"amount": 1234.5,}}' }),
  invalid_idempotency_key: ({ api }) => api.create(ORDER, { headers: { 'Idempotency-Key': 'order 10042' } }),
  unauthorized: ({ api }) => api.call('GET', BASE + ORDER_PATH, { key: 'sk_revoked' }),
  async sandbox_only(stack) {
    const id = await openOrder(stack);
    return stack.api.call('POST', `${BASE}/order/${id}/simulate/`, { body: { data: { event: 'approved' } } });
  },
  not_found: ({ api }) => api.call('GET', BASE + ORDER_PATH),
  method_not_allowed: ({ api }) => api.call('PATCH', BASE + ORDER_PATH),
  async duplicate_reference({ api }) {
    await api.create({ ...ORDER, reference: 'taken' });
    return api.create({ ...ORDER, reference: 'taken' });
  },
  async idempotency_key_in_progress({ api, db, seller }) {
    const { id } = (await api.create()).body.data;
    const key = [seller.id, 'in-progress', Buffer.alloc(32), id, '{}'];
    const first = await holdTransaction(db, 'insert into idempotency_key values ($1, $2, $3, $4, $5)', key);
    try {
      return await api.create({}, { headers: { 'Idempotency-Key': 'in-progress' } });
    } finally {
      await first.rollback();
    }
  },
  async order_not_cancellable(stack) {
    const id = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
    return stack.api.cancel(id);
  },
  async transition_not_allowed(stack) {
    return stack.api.progress(await openOrder(stack), 'completed');
  },
  async no_webhook_url(stack) {
    await openOrder(stack, { webhook_url: null }, ['signup_started']);
    const { body } = await stack.api.call('GET', `${BASE}/seller/${stack.seller.id}/webhook_event/?limit=1`);
    return stack.api.call('POST', `${BASE}/webhook_event/${body.data[0].id}/resend/`);
  },
  async resend_in_progress(stack) {
    const { api, seller } = stack;
    const resend = () =>
      api.call('POST', `${BASE}/seller/${seller.id}/webhook_event/resend/`, { body: { data: { state: 'exhausted' } } });
    await stack.stopWorker();
    await resend();
    const response = await resend();
    await stack.startWorker();
    return response;
  },
  async too_many_webhook_secrets({ api, seller }) {
    const rotate = () => api.call('POST', `${BASE}/seller/${seller.id}/webhook_secret/rotate/`);
    for (let count = 1; count < MAX_ACTIVE_SECRETS; count++) await rotate();
    return rotate();
  },
  async webhook_content_deleted(stack) {
    await openOrder(stack, { webhook_url: 'https://192.0.2.1/hooks' }, ['signup_started', 'approved', 'completed']);
    const { rows } = await stack.db.query<{ id: string }>(
      `update webhook_event set body = null, content_deleted_at = '2026-11-21T09:00:00Z', state = 'exhausted'
       where seller_id = $1 returning id`,
      [stack.seller.id],
    );
    return stack.api.call('GET', `${BASE}/webhook_event/${rows[0]!.id}/`);
  },
  async precondition_failed(stack) {
    const id = await openOrder(stack, {}, ['signup_started']);
    return stack.api.cancel(id, { headers: { 'If-Match': '"1"' } });
  },
  payload_too_large: ({ api }) => api.create({ reference: 'x'.repeat(100_000) }),
  unsupported_media_type: ({ api }) => api.create(ORDER, { headers: { 'Content-Type': 'text/plain' } }),
  invalid_request: ({ api }) => api.create({ amount: 12.345, reference: '', webhookUrl: 'https://shop.example/hooks' }),
  async idempotency_key_reused({ api }) {
    const headers = { 'Idempotency-Key': 'order-10043' };
    await api.create({ ...ORDER, reference: '10043' }, { headers });
    return api.create({ ...ORDER, reference: '10044' }, { headers });
  },
  checkout_not_ready: (stack) =>
    withApi(stack, { HOSTED_CHECKOUT: 'true' }, (api) => api.create({ reference: 'live' })),
  quota_exceeded: (stack) => withApi(stack, { ORDERS_PER_DAY: '0' }, (api) => api.create()),
  rate_limited: (stack) =>
    withApi(stack, { RATE_LIMIT_KEY: '1', ...constants({ rateLimits: { windowMs: 600_000 } }) }, async (api) => {
      await api.call('GET', BASE + ORDER_PATH);
      return api.call('GET', BASE + ORDER_PATH);
    }),
  async internal_error({ api, db }) {
    await db.query('alter table orders rename to orders_renamed');
    try {
      return await api.call('GET', BASE + ORDER_PATH);
    } finally {
      await db.query('alter table orders_renamed rename to orders');
    }
  },
  async overloaded(stack) {
    // Tests wait longer for a connection than the product does.
    const waitMs = POOL_TIMEOUTS.connectionTimeoutMillis;
    POOL_TIMEOUTS.connectionTimeoutMillis = 3000;
    const held = await holdTransaction(stack.db, 'lock table orders in share row exclusive mode');
    try {
      // One connection for inserts, which the first order holds: the second one gets none in time.
      return await withApi(stack, { DATABASE_POOL_SIZE: '1' }, async (api) => {
        const responses = await Promise.all([api.create(), api.create()]);
        return responses.find(({ body }) => body.code === 'overloaded')!;
      });
    } finally {
      POOL_TIMEOUTS.connectionTimeoutMillis = waitMs;
      await held.rollback();
    }
  },
  async service_unavailable(stack) {
    const DATABASE_URL = `postgres://orders@127.0.0.1:${await freePort()}/orders`;
    return withApi(stack, { DATABASE_URL }, (api) => api.create(ORDER));
  },
};
