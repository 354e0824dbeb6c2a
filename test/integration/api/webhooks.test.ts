import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import {
  timelineEntrySchema,
  rotatedSecretSchema,
  signedWebhookSchema,
  webhookEventSchema,
  webhookSelectionSchema,
  webhookTestResultSchema,
} from '../../../src/contracts/webhook-schemas';
import { findCredentials } from '../../../src/db/secrets';
import type { Order } from '../../../src/domain/order';
import { requestResend } from '../../../src/orders/webhooks';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';
import { NO_KEYS } from '../../support/keys';
import { type Api, BASE } from '../../support/api';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { noWebhookPending, openOrder, setBack, statusOf } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { parseRaw, sendRaw } from '../../support/raw-http';
import { useReceiver } from '../../support/receiver';
import { type SharedStack, useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

const stack = useStack({ env: { WEBHOOK_RETRY_DELAYS: '0,0.2' } });
const receiver = useReceiver('test');
let other: SharedStack;
beforeAll(async () => {
  other = await withNewSeller(stack);
});

async function settledOrder(data: Record<string, unknown> = {}, events = ['failed'], status = 200): Promise<string> {
  receiver.answerWith(status);
  const id = await openOrder(stack, { webhook_url: receiver.url, ...data }, events);
  await until(() => noWebhookPending(stack, [id]), 'no webhook is pending');
  return id;
}

const list = (query = '', api = stack.api, sellerId = stack.seller.id) =>
  api.call('GET', `${BASE}/seller/${sellerId}/webhook_event/${query}`);
const timeline = (id: string, query = '') => stack.api.call('GET', `${BASE}/order/${id}/timeline/${query}`);

/** All items of a paged list. */
async function pages(call: (query: string) => Promise<{ status: number; body: any }>, limit: number): Promise<any[]> {
  const items: any[] = [];
  let cursor: string | null = null;
  do {
    const { status, body } = await call(`?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect(status).toBe(200);
    expect(body.data.length).toBeLessThanOrEqual(limit);
    items.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return items;
}

describe('the list of webhooks', () => {
  test('shows each webhook with its state, newest first, and filters by state', async () => {
    const delivered = await settledOrder({}, ['signup_started', 'declined']);
    const exhausted = await settledOrder({}, ['failed'], 500);
    const disabled = await settledOrder({}, ['failed'], 410);
    const { body } = await list('?limit=4');
    for (const item of body.data) expect(webhookEventSchema.strict().parse(item)).toEqual(item);
    expect(body.data.map((item: any) => [item.order_id, item.sequence, item.state, item.attempts])).toEqual([
      [disabled, 1, 'disabled', 1],
      [exhausted, 1, 'exhausted', 2],
      [delivered, 2, 'delivered', 1],
      [delivered, 1, 'delivered', 1],
    ]);
    const only = await list('?state=exhausted');
    expect(only.body.data.map((item: any) => item.order_id)).toEqual([exhausted]);
    expect(only.body.next_cursor).toBeNull();
    expect((await list('?state=pending')).body.data).toEqual([]);
  });

  test('has pages without gaps or repeats, even while webhooks are created', async () => {
    const before = (await pages(list, 100)).map(({ id }) => id);
    const first = await list('?limit=2');
    await settledOrder();
    const rest: string[] = [];
    for (let cursor = first.body.next_cursor; cursor !== null;) {
      const { body } = await list(`?limit=2&cursor=${cursor}`);
      rest.push(...body.data.map(({ id }: any) => id));
      cursor = body.next_cursor;
    }
    expect([...first.body.data.map(({ id }: any) => id), ...rest]).toEqual(before);
  });

  test("shows only the seller's own webhooks; another seller's list returns 404, and its cursors are unknown", async () => {
    const mine = (await list()).body.data[0].id;
    expect((await list('', other.api, other.seller.id)).body.data).toEqual([]);
    expectProblem(await list('', other.api), 404, 'not_found');
    const refusal = async (cursor: string) => {
      const response = await list(`?cursor=${cursor}`, other.api, other.seller.id);
      return expectProblem(response, 422, 'invalid_request').errors;
    };
    expect(await refusal(mine)).toEqual(await refusal(randomUUID()));
    expect(await refusal(mine)).toEqual(await refusal('x'));
    const last = (await pages(list, 100)).at(-1).id;
    expect((await list(`?cursor=${last}`)).body).toEqual({ data: [], next_cursor: null });
  });

  test.each([
    ['?state=lost', 'state'],
    ['?status=pending', 'status'],
    ['?a%2Fb~=1', 'a/b~'],
  ])('refuses %s with an error that names the parameter', async (query, parameter) => {
    const response = await list(query);
    expectProblem(response, 422, 'invalid_request');
    expect(response.body.errors).toMatchObject([{ parameter }]);
    expect(response.body.detail).toMatch(new RegExp(`^\\?${parameter} (must|is) `));
  });

  test('reports every invalid parameter in one response', async () => {
    const { body } = await list('?limit=0&state=lost&nonsense=1');
    expect(body.errors.map((error: any) => error.parameter)).toEqual(['limit', 'state', 'nonsense']);
  });
});

test('a delivered webhook of a live account can be retrieved with the exact body and a valid signature', async () => {
  const orderId = await settledOrder();
  const { id } = (await list('?limit=1')).body.data[0];
  const retrieve = (api: Api) => api.call('GET', `${BASE}/webhook_event/${id}/`);
  const { status, body } = await retrieve(stack.api);
  expect([status, signedWebhookSchema.strict().parse(body.data)]).toEqual([200, body.data]);
  expect(body.data).toMatchObject({ id, order_id: orderId, state: 'delivered' });
  const { request_headers: headers, request_body: text } = body.data;
  expect(text).toBe(receiver.deliveries[0]!.text);
  expect(new Webhook(stack.seller.webhookSecret).verify(text, headers)).toEqual(receiver.deliveries[0]!.body);
  expectProblem(await retrieve(other.api), 404, 'not_found');
});

describe('the timeline', () => {
  test('has every change with its webhook, every refusal and every attempt, oldest first', async () => {
    const id = await settledOrder({}, ['signup_started']);
    await stack.client.workflow.getHandle(`order-${id}`).signal('customerProgress', { event: 'completed' });
    await until(async () => (await timeline(id)).body.data.length === 4, 'the refusal is recorded');
    receiver.answerWith(500);
    await stack.api.cancel(id);
    await until(() => noWebhookPending(stack, [id]), 'no webhook is pending');

    const { body, status } = await timeline(id);
    expect(status).toBe(200);
    for (const entry of body.data) expect(timelineEntrySchema.parse(entry)).toEqual(entry);
    expect(body.data).toMatchObject([
      {
        type: 'change',
        event: 'created',
        from: null,
        to: 'CREATED',
        actor: 'seller',
        channel: 'api',
        version: 1,
        webhook: null,
      },
      { type: 'change', event: 'signup_started', to: 'PENDING', webhook: { sequence: 1, state: 'delivered' } },
      {
        type: 'webhook_attempt',
        sequence: 1,
        attempt: 1,
        status: 200,
        error: null,
        resend: false,
        address: '127.0.0.1',
      },
      { type: 'refusal', event: 'completed', order_status: 'PENDING', actor: 'checkout', channel: 'temporal' },
      { type: 'change', event: 'cancel', from: 'PENDING', webhook: { sequence: 2, state: 'exhausted' } },
      { type: 'webhook_attempt', sequence: 2, attempt: 1, status: 500, error: 'http_status', response_body: 'thanks' },
      { type: 'webhook_attempt', sequence: 2, attempt: 2, status: 500, next_attempt_at: null },
    ]);
    const [, , attempt] = body.data;
    expect(attempt.connected_ms).toBeLessThanOrEqual(attempt.headers_ms);
    expect(attempt.headers_ms).toBeLessThanOrEqual(attempt.duration_ms);
    expect(body.data[5].next_attempt_at).toMatch(/Z$/);
    expect((await pages((query) => timeline(id, query), 2)).length).toBe(7);
    expect(await pages((query) => timeline(id, query), 3)).toEqual(body.data);
  });

  test('refuses a cursor that is not of the order', async () => {
    const [id, otherId] = [await settledOrder(), await settledOrder()];
    const cursorOf = async (order: string) => (await timeline(order, '?limit=1')).body.next_cursor as string;
    for (const cursor of [await cursorOf(otherId), '999999999', '0', 'abc']) {
      const { errors } = expectProblem(await timeline(id, `?cursor=${cursor}`), 422, 'invalid_request');
      expect(errors).toMatchObject([{ code: 'invalid_format', parameter: 'cursor' }]);
    }
    expect((await timeline(id, `?cursor=${await cursorOf(id)}`)).body.data).toHaveLength(2);
  });
});

describe('a resend', () => {
  const resend = (id: string) => stack.api.call('POST', `${BASE}/webhook_event/${id}/resend/`);

  test('by the seller is accepted and appears in the timeline', async () => {
    const orderId = await settledOrder();
    const { id } = (await list('?limit=1')).body.data[0];
    const response = await resend(id.toUpperCase());
    expect(response.status).toBe(202);
    expect(webhookEventSchema.strict().parse(response.body.data)).toEqual(response.body.data);
    expect(response.body.data.resend_requested_at).not.toBeNull();
    const entry = await until(async () => (await timeline(orderId)).body.data[3], 'the attempt is recorded');
    expect(entry).toMatchObject({ type: 'webhook_attempt', webhook_id: id, attempt: 2, resend: true, status: 200 });
  });

  test('is requested although the order completes between the read of its row and the request', async () => {
    const id = await settledOrder({}, ['signup_started', 'approved']);
    const [webhook] = (await list('?limit=1')).body.data;
    const timeouts = { startTimeoutMs: 60_000, updateTimeoutMs: 60_000 };
    const workflows = createOrderWorkflows(stack.client, { ...timeouts, encryptPayloads: false });
    const read: string[] = [];
    const resendWebhook = async (row: Order, webhookId: string): Promise<boolean> => {
      if (read.push(row.status) === 1) {
        expect((await stack.api.progress(id, 'completed')).status).toBe(200);
        await stack.client.workflow.getHandle(`order-${id}`).result();
      }
      return workflows.resendWebhook(row, webhookId);
    };
    const deps = { db: stack.db, workflows: { ...workflows, resendWebhook } };
    expect(await requestResend(deps, { id: webhook.id, orderId: id })).toBe(true);
    expect(read).toEqual(['APPROVED', 'SUCCESSFUL']);
    const sent = () => receiver.deliveries.filter(({ headers }) => headers['webhook-id'] === webhook.id);
    await until(() => sent().length === 2, 'the webhook is sent once more');
  });

  test('returns 503 and starts no run if a backup has set back the row of the order', async () => {
    const id = await settledOrder({}, ['signup_started', 'approved', 'completed']);
    await stack.client.workflow.getHandle(`order-${id}`).result();
    await setBack(stack.db, id, 3, 'APPROVED');
    const [webhook] = (await list('?limit=1')).body.data;
    const refused = expectProblem(await resend(webhook.id), 503, 'service_unavailable');
    expect(refused.detail).toBe('The resend could not be requested. Repeating the call is safe.');
    // As reconcile or a worker marks it.
    await stack.db.query('update orders set behind_version = 4 where id = $1', [id]);
    expectProblem(await resend(webhook.id), 503, 'service_unavailable');
    expect(await statusOf(stack.client, id)).toBe('COMPLETED');
  });
});

describe('a resend of many', () => {
  const resendMany = (data: unknown, { api, seller }: SharedStack = stack) =>
    api.call('POST', `${BASE}/seller/${seller.id}/webhook_event/resend/`, { body: { data } });
  const resendAll = async (data: unknown): Promise<any> => {
    const { status, body } = await until(async () => {
      const response = await resendMany(data);
      return response.body.code === 'resend_in_progress' ? undefined : response;
    }, 'the resend before has ended');
    expect([status, webhookSelectionSchema.strict().parse(body.data)]).toEqual([202, body.data]);
    return body.data;
  };
  /** The webhooks that were sent since the last call, oldest first, once there are `count`. */
  const sentNow = async (count: number): Promise<string[]> => {
    await until(() => receiver.deliveries.length >= count, 'the webhooks arrive');
    return receiver.deliveries.splice(0).map(({ body }) => `${body.data.order.id} ${body.data.event}`);
  };

  test('sends all exhausted webhooks of the seller again, and no others', async () => {
    await stack.db.query(`update webhook_event set state = 'delivered'`);
    await settledOrder();
    const first = await settledOrder({}, ['failed'], 500);
    const second = await settledOrder({}, ['failed'], 500);
    await other.api.create({ webhook_url: receiver.url });
    receiver.answerWith(200);
    receiver.deliveries.length = 0;
    expect(await resendAll({ state: 'exhausted' })).toMatchObject({ state: 'exhausted', created_from: null });
    expect(await sentNow(2)).toEqual([`${first} failed`, `${second} failed`]);
    await until(async () => (await list('?state=exhausted')).body.data.length === 0, 'both are delivered');
  });

  test('sends all webhooks since a time again, in any state, oldest first, without those of other sellers', async () => {
    await settledOrder();
    const from = await settledOrder({}, ['signup_started', 'declined']);
    const [, since] = (await list('?limit=2')).body.data;
    const exhausted = await settledOrder({}, ['failed'], 500);
    receiver.answerWith(200);
    const ofOther = await openOrder({ ...stack, api: other.api }, { webhook_url: receiver.url }, ['failed']);
    await until(() => noWebhookPending(stack, [ofOther]), 'no webhook is pending');
    receiver.deliveries.length = 0;
    expect(await resendAll({ created_from: since.created_at })).toMatchObject({
      state: null,
      created_from: since.created_at,
    });
    expect(await sentNow(3)).toEqual([`${from} signup_started`, `${from} declined`, `${exhausted} failed`]);
    // Another resend can start only after this one has ended: nothing else was sent.
    await resendAll({ state: 'pending' });
    expect(receiver.deliveries).toEqual([]);
  });

  test('leaves out orders that wait for reconcile', async () => {
    const behind = await settledOrder();
    const [since] = (await list('?limit=1')).body.data;
    const next = await settledOrder();
    await stack.db.query('update orders set behind_version = 9 where id = $1', [behind]);
    receiver.deliveries.length = 0;
    await resendAll({ created_from: since.created_at });
    expect(await sentNow(1)).toEqual([`${next} failed`]);
    await resendAll({ state: 'pending' });
    expect(receiver.deliveries).toEqual([]);
  });

  test('leaves out webhooks that are created after the call, or at created_before and later', async () => {
    await settledOrder({}, ['signup_started', 'declined']);
    const [last, first] = (await list('?limit=2')).body.data;
    receiver.deliveries.length = 0;
    await resendAll({ created_from: first.created_at, created_before: last.created_at });
    expect(await sentNow(1)).toEqual([`${first.order_id} signup_started`]);
    const { created_before: end } = await resendAll({ created_from: last.created_at });
    expect(await sentNow(1)).toEqual([`${last.order_id} declined`]);
    expect(Date.parse(end)).toBeGreaterThan(Date.parse(last.created_at));
  });

  test('that is requested while another one of the seller runs returns 409, and one of another seller is accepted', async () => {
    await resendAll({ state: 'pending' });
    await stack.client.workflow.getHandle(`resend-webhooks-${stack.seller.id}`).result();
    await stack.stopWorker();
    try {
      expect((await resendMany({ state: 'pending' })).status).toBe(202);
      expectProblem(await resendMany({ created_from: '2026-11-21T09:00:00+01:00' }), 409, 'resend_in_progress');
      expect((await resendMany({ state: 'pending' }, other)).status).toBe(202);
    } finally {
      await stack.startWorker();
    }
  });

  test.each([
    [{}, '/data', 'required'],
    [{ created_before: '2026-11-21T09:00:00Z' }, '/data', 'required'],
    [{ state: 'lost' }, '/data/state', 'invalid_value'],
    [{ created_from: '9999-12-31T23:00:00-02:00' }, '/data/created_from', 'invalid_value'],
    [{ state: 'exhausted', seller: 'all' }, '/data/seller', 'unknown_field'],
  ])('refuses %j', async (data, pointer, code) => {
    const response = await resendMany(data);
    expectProblem(response, 422, 'invalid_request');
    expect(response.body.errors).toMatchObject([{ pointer, code }]);
  });
});

describe('rotating the webhook secret', () => {
  const rotate = (body?: unknown) => {
    const path = `${BASE}/seller/${other.seller.id}/webhook_secret/rotate/`;
    return other.api.call('POST', path, body === undefined ? {} : { body });
  };
  const signedBy = (secret: string): boolean => {
    const { text, headers } = receiver.deliveries.at(-1)!;
    try {
      new Webhook(secret).verify(text, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };
  const send = async () => {
    const sent = await other.api.call('POST', `${BASE}/seller/${other.seller.id}/webhook_test/`, {
      body: { data: { url: receiver.url } },
    });
    expect(sent.body.data.delivered).toBe(true);
  };

  test('returns a new secret, and both secrets sign for a day', async () => {
    const { status, body } = await rotate();
    expect(status).toBe(200);
    expect(rotatedSecretSchema.strict().parse(body.data)).toEqual(body.data);
    const hours = (Date.parse(body.data.previous_valid_until) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThan(24.1);
    await send();
    expect([other.seller.webhookSecret, body.data.webhook_secret].map(signedBy)).toEqual([true, true]);
  });

  test('accepts an empty body, however it is framed, and reads one that arrives late', async () => {
    const path = `${BASE}/seller/${other.seller.id}/webhook_secret/rotate/`;
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${other.seller.key}\r\n`;
    const json = 'Content-Type: application/json\r\n';
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n';
    for (const framing of ['Content-Length: 0\r\n\r\n', `${chunked}0\r\n\r\n`, `${json}${chunked}0\r\n\r\n`, '\r\n']) {
      await rotate({ data: { overlap_seconds: 0 } });
      const { status, body } = parseRaw(await sendRaw(other.api.url, head + framing));
      expect([framing, status]).toEqual([framing, 200]);
      expect(body.data.previous_valid_until).not.toBeNull();
    }
    const late = await fetch(other.api.url + path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${other.seller.key}`, 'Content-Type': 'application/json' },
      body: new ReadableStream({
        async start(controller) {
          await delay(100);
          controller.enqueue(Buffer.from('{"data":{"overlap_seconds":'));
          await delay(100);
          controller.enqueue(Buffer.from('0}}'));
          controller.close();
        },
      }),
      duplex: 'half',
    });
    expect(await late.json()).toMatchObject({ data: { previous_valid_until: null } });
    expectProblem(
      parseRaw(await sendRaw(other.api.url, `${head}${json}${chunked}4\r\nnull\r\n0\r\n\r\n`)),
      422,
      'invalid_request',
    );
  });

  test('without an overlap revokes the other secrets immediately', async () => {
    const before = (await rotate()).body.data.webhook_secret;
    const { body } = await rotate({ data: { overlap_seconds: 0 } });
    expect(body.data.previous_valid_until).toBeNull();
    await send();
    expect([before, body.data.webhook_secret].map(signedBy)).toEqual([false, true]);
  });

  test('returns 409 instead of ending one of five active secrets early, and names the time at which it is possible again', async () => {
    const first = (await rotate({ data: { overlap_seconds: 3600 } })).body.data;
    for (let count = 0; count < 3; count++) expect((await rotate()).status).toBe(200);
    const { secrets } = await findCredentials(stack.db, NO_KEYS, other.seller.id);
    expect(secrets).toHaveLength(5);
    expect(secrets).toContain(first.webhook_secret);
    // A short overlap makes no room either.
    for (const body of [undefined, { data: { overlap_seconds: 1 } }]) {
      const response = await rotate(body);
      const { detail } = expectProblem(response, 409, 'too_many_webhook_secrets');
      expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(1800);
      expect(Number(response.headers.get('Retry-After'))).toBeLessThanOrEqual(3600);
      expect(Date.parse(/ends at (\S+);/.exec(detail)![1]!) - Date.now()).toBeLessThanOrEqual(3_600_000);
    }
    expect((await findCredentials(stack.db, NO_KEYS, other.seller.id)).secrets).toEqual(secrets);
    await stack.db.query(
      `update webhook_secret set expires_at = now() where seller_id = $1 and expires_at < now() + interval '1 hour'`,
      [other.seller.id],
    );
    expect((await rotate()).status).toBe(200);
    expectProblem(await rotate(), 409, 'too_many_webhook_secrets');
    expect((await rotate({ data: { overlap_seconds: 0 } })).status).toBe(200);
    expect((await findCredentials(stack.db, NO_KEYS, other.seller.id)).secrets).toHaveLength(1);
  });

  test('lets the sweep delete the secrets that have expired', async () => {
    await rotate();
    await rotate({ data: { overlap_seconds: 0 } });
    await until(async () => {
      const { rowCount } = await stack.db.query('select from webhook_secret where seller_id = $1', [other.seller.id]);
      return rowCount === 1;
    }, 'only the new secret is stored');
  });

  test('concurrently never leaves more than five active secrets', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => rotate()));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 409, 409, 409, 409]);
    expect((await findCredentials(stack.db, NO_KEYS, other.seller.id)).secrets).toHaveLength(5);
    await rotate({ data: { overlap_seconds: 0 } });
  });

  test.each([
    { data: { overlap_seconds: -1 } },
    { data: { overlap_seconds: 604_801 } },
    { data: { overlap_seconds: 1.5 } },
  ])('refuses the body %j', async (body) => {
    const response = await rotate(body);
    expectProblem(response, 422, 'invalid_request');
    expect(response.body.errors).toMatchObject([{ pointer: '/data/overlap_seconds' }]);
  });
});

describe('static headers', () => {
  const set = (
    headers: unknown,
    { api = stack.api, origin = new URL(receiver.url).origin }: { api?: Api; origin?: unknown } = {},
  ) =>
    api.call('PUT', `${BASE}/seller/${stack.seller.id}/webhook_headers/`, {
      body: { data: { origin, headers } },
    });
  const gateway = { name: 'Authorization', value: 'Bearer of-the-gateway' };
  /** Every character that RFC 9110 allows. */
  const odd = { name: "1x_shop!#$%&'*+-.^`|~", value: 'c' };
  afterAll(() => set([]));

  test('are on every webhook to their origin: first attempts, retries, resends and tests', async () => {
    const { status, body } = await set([gateway, { name: 'X-Shop', value: 'a  b' }, odd]);
    expect([status, body]).toEqual([
      200,
      { data: { origin: new URL(receiver.url).origin, names: ['authorization', 'x-shop', odd.name] } },
    ]);
    await settledOrder({}, ['failed'], 500);
    const { id } = (await list('?limit=1')).body.data[0];
    await stack.api.call('POST', `${BASE}/webhook_event/${id}/resend/`);
    await until(() => receiver.deliveries.length === 3, 'the resend arrives');
    await stack.api.call('POST', `${BASE}/seller/${stack.seller.id}/webhook_test/`, {
      body: { data: { url: receiver.url } },
    });
    const sent = receiver.deliveries.map(({ headers }) => [
      headers.authorization,
      headers['x-shop'],
      headers[odd.name],
    ]);
    expect(sent).toEqual(Array.from({ length: 4 }, () => [gateway.value, 'a  b', 'c']));
  });

  test('are replaced by the next call, removed by an empty array, and not sent to other sellers', async () => {
    const lastHeaders = async (api = stack.api) => {
      const id = await openOrder({ ...stack, api }, { webhook_url: receiver.url }, ['failed']);
      await until(() => noWebhookPending(stack, [id]), 'no webhook is pending');
      const { authorization, 'x-shop': shop } = receiver.deliveries.at(-1)!.headers;
      return { authorization, shop };
    };
    await set([gateway]);
    expect(await lastHeaders()).toEqual({ authorization: gateway.value });
    expect(await lastHeaders(other.api)).toEqual({});
    await set([{ name: 'x-shop', value: '2' }]);
    expect(await lastHeaders()).toEqual({ shop: '2' });
    expect((await set([])).body.data.names).toEqual([]);
    expect(await lastHeaders()).toEqual({});
  });

  test("are not among the headers of a retrieved webhook, and another seller's cannot be set", async () => {
    await settledOrder();
    await set([gateway]);
    const { id } = (await list('?limit=1')).body.data[0];
    const { text } = await stack.api.call('GET', `${BASE}/webhook_event/${id}/`);
    expect(text).not.toMatch(/authorization|gateway/i);
    expectProblem(await set([], { api: other.api }), 404, 'not_found');
  });

  test('are not sent to another origin, so that a stolen key cannot read them, and the log of the attempt says so', async () => {
    await set([gateway], { origin: 'https://SHOP.example:443/' });
    const stolen = await settledOrder();
    const { body } = await stack.api.call('POST', `${BASE}/seller/${stack.seller.id}/webhook_test/`, {
      body: { data: { url: receiver.url } },
    });
    expect(receiver.deliveries.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
    const attempts = async (id: string) =>
      (await timeline(id)).body.data.filter((entry: any) => entry.type === 'webhook_attempt');
    expect([(await attempts(stolen))[0].static_headers, body.data.static_headers]).toEqual([false, false]);
    expect((await set([gateway])).body.data.origin).toBe(new URL(receiver.url).origin);
    expect((await attempts(await settledOrder()))[0].static_headers).toBe(true);
    expect(receiver.deliveries.at(-1)!.headers.authorization).toBe(gateway.value);
  });

  test.each([
    ['https://shop.example/hooks', 'invalid_url'],
    ['https://shop.example/?a', 'invalid_url'],
    ['https://me:secret@shop.example', 'invalid_url'],
    ['shop.example', 'invalid_url'],
    [null, 'required'],
  ])('cannot be set for the origin %j', async (origin, code) => {
    const { errors } = expectProblem(await set([gateway], { origin }), 422, 'invalid_request');
    expect(errors).toMatchObject([{ code, pointer: '/data/origin' }]);
  });

  const named = (...names: string[]) => names.map((name) => ({ name, value: 'secret' }));
  test.each([
    ...['Host', 'connection', 'Keep-Alive', 'Proxy-Authorization', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade'],
    ...['HTTP2-Settings', 'Expect', 'Content-Length', 'CONTENT-TYPE', 'Content-Encoding', 'Accept', 'Accept-Encoding'],
    ...['User-Agent', 'traceparent', 'tracestate', 'webhook-id', 'Webhook-Signature', 'webhook-future'],
  ])('cannot be %s, which belongs to HTTP or to the service', async (name) => {
    const { errors } = expectProblem(await set(named('x-shop', name)), 422, 'invalid_request');
    expect(errors).toEqual([
      { code: 'invalid_value', detail: 'is a header of HTTP or of the service', pointer: '/data/headers/1/name' },
    ]);
  });

  test.each([
    [named('a', 'b', 'c', 'd', 'e', 'f'), '/data/headers', 'too_big'],
    [named('x-shop', 'X-Shop'), '/data/headers', 'duplicate_value'],
    [named(''), '/data/headers/0/name', 'invalid_format'],
    [named('x shop'), '/data/headers/0/name', 'invalid_format'],
    [named('__proto__'), '/data/headers/0/name', 'invalid_value'],
    [named('content_length'), '/data/headers/0/name', 'invalid_value'],
    [named('x'.repeat(65)), '/data/headers/0/name', 'too_big'],
    [[{ name: 'x', value: '' }], '/data/headers/0/value', 'invalid_format'],
    [[{ name: 'x', value: 'secret\r\nwebhook-id: 1' }], '/data/headers/0/value', 'invalid_format'],
    [[{ name: 'x', value: 'secret'.repeat(400) }], '/data/headers/0/value', 'too_big'],
    [[{ name: 'x', value: 1 }], '/data/headers/0/value', 'invalid_type'],
    [{ 'x-shop': 'secret' }, '/data/headers', 'invalid_type'],
    [undefined, '/data/headers', 'required'],
  ])('refuses %j without repeating a value', async (headers, pointer, code) => {
    const response = await set(headers);
    const { errors } = expectProblem(response, 422, 'invalid_request');
    expect(errors).toMatchObject([{ pointer, code }]);
    expect(response.text).not.toMatch(/s.cret/);
  });
});

describe('a test webhook', () => {
  const send = (url: unknown, sellerId = stack.seller.id) =>
    stack.api.call('POST', `${BASE}/seller/${sellerId}/webhook_test/`, { body: { data: { url } } });

  test('is signed, and the response reports the result', async () => {
    const { status, body } = await send(receiver.url);
    expect(status).toBe(200);
    expect(webhookTestResultSchema.strict().parse(body.data)).toEqual(body.data);
    expect(body.data).toMatchObject({ delivered: true, status: 200, error: null, response_body: 'thanks' });
    const { text, headers, body: sent } = receiver.deliveries[0]!;
    expect(new Webhook(stack.seller.webhookSecret).verify(text, headers as Record<string, string>)).toEqual(sent);
    expect(sent).toMatchObject({ type: 'webhook.test', data: { seller_id: stack.seller.id } });
    expect(headers['webhook-id']).toBe(body.data.webhook_id);
    expect(body.data.request_body).toBe(text);
  });

  test('leaves no URL, which may be a credential, in Temporal', async () => {
    const url = new URL(receiver.url);
    url.pathname = '/private-hooks';
    const { body } = await send(url.href);
    const activity = await stack.client.activity
      .getHandle(`webhook-test-${body.data.webhook_id}`)
      .describe({ includeInput: true, includeOutcome: true, includeLastFailure: true });
    const text = JSON.stringify([activity, await activity.getInput(), await activity.getResult()]);
    expect(text).toContain(body.data.webhook_id);
    expect(['private-', 'http://', url.host].filter((part) => text.includes(part))).toEqual([]);
  });

  test('that fails returns 200 with the failure', async () => {
    receiver.answerWith(503);
    expect((await send(receiver.url)).body.data).toMatchObject({ delivered: false, status: 503, error: 'http_status' });
    expect((await send('http://127.0.0.1:9/')).body.data).toMatchObject({ delivered: false, error: 'refused' });
  });

  test('needs a URL that is allowed for webhooks', async () => {
    for (const url of ['nonsense', 'ftp://shop.example/', 'https://user@shop.example/', undefined, 5]) {
      const response = await send(url);
      expectProblem(response, 422, 'invalid_request');
      expect(response.body.errors).toMatchObject([{ pointer: '/data/url' }]);
    }
    expectProblem(await send(receiver.url, other.seller.id), 404, 'not_found');
  });

  test('without a worker returns 503 and is not sent later', async () => {
    await stack.stopWorker();
    const response = await send(receiver.url);
    await stack.startWorker();
    const { detail } = expectProblem(response, 503, 'service_unavailable');
    expect(detail).toMatch(/outcome is unknown: the webhook may have been sent/);
    expect(detail).not.toMatch(/is safe/);
    expect(response.headers.get('Retry-After')).toBe('5');
    expect((await send(receiver.url)).body.data.delivered).toBe(true);
    expect(receiver.deliveries).toHaveLength(1);
  });
});

test('rotations of one seller that wait for a lock leave connections for others', async () => {
  const held = await holdTransaction(stack.db, 'select from seller where id = $1 for update', [stack.seller.id]);
  const path = `${BASE}/seller/${stack.seller.id}/webhook_secret/rotate/`;
  const waiting = Array.from({ length: 25 }, () => stack.api.call('POST', path));
  // Two of them have a connection, and the others wait for these.
  await until(async () => (await statementsWaiting(stack.db)) >= 2, 'two calls wait for the lock');
  expect((await other.api.call('GET', `${BASE}/seller/${other.seller.id}/connection_check/`)).status).toBe(200);
  expect((await other.api.create()).status).toBe(201);
  expect(await statementsWaiting(stack.db)).toBeLessThanOrEqual(2);
  await held.rollback();
  await Promise.all(waiting);
});
