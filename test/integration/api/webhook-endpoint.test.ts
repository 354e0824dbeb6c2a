import { accountAddressSchema, timelineEntrySchema, webhookEventSchema } from '../../../src/contracts/webhook-schemas';
import { BASE } from '../../support/api';
import { freePort } from '../../../tools/local-stack/ports';
import { constants } from '../../support/constants';
import { openOrder } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { useReceiver } from '../../support/receiver';
import { useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';
import { withApi } from '../../support/with-api';

const stack = useStack({
  env: { WEBHOOK_RETRY_DELAYS: '0,3600', ...constants({ webhookBreaker: { failures: 2, minWaitMs: 200_000 } }) },
});
const receiver = useReceiver('test');

/** A seller of its own, so that no endpoint is known. */
async function newShop() {
  const { seller, api } = await withNewSeller(stack);
  const path = `${BASE}/seller/${seller.id}`;
  const events = async (query = ''): Promise<any[]> => {
    const { body } = await api.call('GET', `${path}/webhook_event/${query}`);
    for (const event of body.data) expect(webhookEventSchema.strict().parse(event)).toEqual(event);
    return body.data;
  };
  return {
    api,
    path,
    seller,
    events,
    order: (data: Record<string, unknown> = {}, changes = ['signup_started']) =>
      openOrder({ ...stack, api }, data, changes),
    /** The only webhook of an order, once it satisfies a condition. */
    webhookOf: (orderId: string, isAsExpected: (event: any) => boolean = () => true): Promise<any> =>
      until(
        async () => (await events()).find((event) => event.order_id === orderId && isAsExpected(event)),
        'the webhook is as expected',
      ),
    set: (data: unknown) => api.call('PUT', `${path}/webhook_endpoint/`, { body: { data } }),
    get: async () => {
      const { body } = await api.call('GET', `${path}/webhook_endpoint/`);
      expect(accountAddressSchema.strict().parse(body.data)).toEqual(body.data);
      return body.data;
    },
    resend: (data: unknown) => api.call('POST', `${path}/webhook_event/resend/`, { body: { data } }),
  };
}

const closedUrl = async () => `http://127.0.0.1:${await freePort()}/hoks`;

describe('the state of an endpoint', () => {
  test('that does not answer is shown with each webhook that waits for it, attempted or not', async () => {
    const shop = await newShop();
    const url = await closedUrl();
    const { origin } = new URL(url);
    const first = await shop.order({ webhook_url: url });
    expect(await shop.webhookOf(first, ({ attempts }) => attempts === 1)).toMatchObject({
      state: 'pending',
      last_error: expect.stringMatching(/^Your server refused the connection: connect ECONNREFUSED/),
      url,
      // One attempt is no outage yet.
      endpoint: { origin, state: 'not_answering', since: expect.any(String), next_probe_at: null },
    });
    const second = await shop.order({ webhook_url: url });
    await shop.webhookOf(second, ({ attempts }) => attempts === 1);
    const third = await shop.order({ webhook_url: `${url}/other` });
    const waiting = await shop.webhookOf(third);
    expect(waiting).toMatchObject({ state: 'pending', attempts: 0, next_attempt_at: null });
    expect(waiting.last_error).toMatch(`Not sent yet: ${origin} does not answer. Your server refused the connection`);
    expect(waiting.endpoint).toMatchObject({
      ...{ origin, state: 'not_answering', last_error: expect.stringMatching(/^Your server refused/) },
    });
    const wait = Date.parse(waiting.endpoint.next_probe_at) - Date.parse(waiting.endpoint.since);
    expect(wait).toBeGreaterThanOrEqual(200_000);
    expect((await shop.api.call('GET', `${BASE}/webhook_event/${waiting.id}/`)).body.data).toMatchObject(waiting);
    const { body } = await shop.api.call('GET', `${BASE}/order/${third}/timeline/`);
    for (const entry of body.data) expect(timelineEntrySchema.parse(entry)).toEqual(entry);
    const { last_error, url: itsUrl, endpoint } = waiting;
    expect(body.data).toMatchObject([
      { webhook: null },
      { webhook: { id: waiting.id, last_error, url: itsUrl, endpoint } },
    ]);
    expect((await shop.get()).endpoints).toEqual([endpoint]);
  });

  test('is that of the last attempt, since the first one that got the same', async () => {
    const shop = await newShop();
    const { origin } = new URL(receiver.url);
    const stateOf = async () => (await shop.get()).endpoints[0];
    const send = async (status: number) => {
      receiver.answerWith(status);
      const id = await shop.order({ webhook_url: receiver.url });
      await shop.webhookOf(id, ({ attempts }) => attempts === 1);
      return stateOf();
    };
    const answering = await send(200);
    expect(answering).toMatchObject({ origin, state: 'answering', last_error: null, next_probe_at: null });
    expect((await send(204)).since).toBe(answering.since);
    const failing = await send(503);
    expect(failing).toMatchObject({ state: 'failing', last_error: 'Your server answered 503.', next_probe_at: null });
    expect(Date.parse(failing.since)).toBeGreaterThan(Date.parse(answering.since));
    expect((await send(500)).since).toBe(failing.since);
    expect(Date.parse((await send(200)).since)).toBeGreaterThan(Date.parse(failing.since));
    // Another seller's attempts at the same origin show nothing.
    expect((await (await newShop()).get()).endpoints).toEqual([]);
  });

  test('of a webhook behind another one of its order names that one', async () => {
    const shop = await newShop();
    receiver.answerWith(500);
    const id = await shop.order({ webhook_url: receiver.url }, ['signup_started', 'approved']);
    const second = await until(
      async () => (await shop.events()).find(({ order_id, sequence }) => order_id === id && sequence === 2),
      'the second webhook',
    );
    expect(second).toMatchObject({ last_error: 'Not sent yet: webhook 1 of the order is sent first.' });
    expect(second.endpoint).toMatchObject({ origin: new URL(receiver.url).origin });
  });
});

describe("the account's webhook endpoint", () => {
  test('replaces a mistyped URL: pending webhooks and resends go there, with the headers of its origin', async () => {
    const shop = await newShop();
    const { origin } = new URL(receiver.url);
    const mistyped = await closedUrl();
    const id = await shop.order({ webhook_url: mistyped });
    await shop.webhookOf(id, ({ attempts }) => attempts === 1);
    const headers = [{ name: 'X-Gateway', value: 'of-the-new-origin' }];
    await shop.api.call('PUT', `${shop.path}/webhook_headers/`, { body: { data: { origin, headers } } });
    const { status, body } = await shop.set({ url: receiver.url, replaces: [mistyped] });
    expect([status, body.data]).toMatchObject([200, { url: receiver.url, replaces: [mistyped] }]);
    expect(await shop.get()).toEqual(body.data);
    expect(await shop.webhookOf(id)).toMatchObject({
      ...{ state: 'pending', url: receiver.url, endpoint: { origin, state: null } },
    });

    expect(await shop.resend({ order_id: id })).toMatchObject({
      status: 202,
      body: { data: { order_id: id, state: null } },
    });
    await shop.webhookOf(id, ({ state }) => state === 'delivered');
    expect(receiver.deliveries).toHaveLength(1);
    expect(receiver.deliveries[0]!.headers['x-gateway']).toBe('of-the-new-origin');
    await openOrder({ ...stack, api: shop.api }, { webhook_url: mistyped }, ['failed']);
    await until(() => receiver.deliveries.length === 2, 'later webhooks go there too');
    const { body: timeline } = await shop.api.call('GET', `${BASE}/order/${id}/timeline/`);
    expect(timeline.data.slice(2)).toMatchObject([
      { type: 'webhook_attempt', origin: new URL(mistyped).origin, static_headers: false },
      { type: 'webhook_attempt', origin, static_headers: true, status: 200 },
    ]);
    // The order is not edited.
    expect((await shop.api.get(id)).body.data.webhook_url).toBe(mistyped);
  });

  test('replaces all URLs of an origin, and no others', async () => {
    const shop = await newShop();
    const old = await closedUrl();
    await shop.set({ url: `${receiver.url}?moved`, replaces: [new URL(old).origin] });
    await shop.order({ webhook_url: `${old}/a?b=c` });
    await until(() => receiver.deliveries.length === 1, 'the webhook arrives');
    const elsewhere = await closedUrl();
    const other = await shop.order({ webhook_url: elsewhere });
    const { endpoint } = await shop.webhookOf(other, ({ attempts }) => attempts === 1);
    expect(endpoint.origin).toBe(new URL(elsewhere).origin);
    // With its slash, it is one URL.
    expect((await shop.set({ url: receiver.url, replaces: [`${new URL(old).origin}/`] })).status).toBe(200);
    const same = await shop.order({ webhook_url: old });
    expect((await shop.webhookOf(same)).endpoint.origin).toBe(new URL(old).origin);
  });

  test('receives the webhooks of orders that name no URL; without one they are disabled until a resend', async () => {
    const shop = await newShop();
    const id = await shop.order();
    const webhook = await shop.webhookOf(id);
    expect(webhook).toMatchObject({ state: 'disabled', attempts: 0, endpoint: null });
    expect(webhook.last_error).toMatch(/^There is no URL: the order names no webhook_url/);
    const resend = () => shop.api.call('POST', `${BASE}/webhook_event/${webhook.id}/resend/`);
    expectProblem(await resend(), 409, 'no_webhook_url');
    expect((await shop.api.call('GET', `${BASE}/webhook_event/${webhook.id}/`)).body.data.request_body).toContain(id);

    await shop.set({ url: receiver.url });
    expect((await resend()).status).toBe(202);
    await shop.webhookOf(id, ({ state }) => state === 'delivered');
    await shop.order();
    await until(() => receiver.deliveries.length === 2, 'the webhook of a new order arrives');

    // Removed while a webhook waits for its next attempt, which ends it: see deliver.test.ts.
    receiver.answerWith(500);
    const waiting = await shop.order();
    await shop.webhookOf(waiting, ({ attempts }) => attempts === 1);
    expect((await shop.set({ url: null })).body.data.url).toBeNull();
    expect(await shop.webhookOf(waiting)).toMatchObject({
      ...{ state: 'pending', endpoint: null, last_error: expect.stringContaining('There is no URL') },
    });
  });

  test('is called although the URL that it replaces has answered 410, until it answers 410 itself', async () => {
    const shop = await newShop();
    receiver.answerWith(410);
    const id = await shop.order({ webhook_url: receiver.url });
    await shop.webhookOf(id, ({ state }) => state === 'disabled');
    await shop.api.progress(id, 'approved');
    const skipped = await shop.webhookOf(id, ({ sequence, state }) => sequence === 2 && state === 'disabled');
    expect(skipped).toMatchObject({ attempts: 0, last_error: expect.stringContaining('410 (gone)') });

    await shop.set({ url: `${receiver.url}?new`, replaces: [receiver.url] });
    await shop.api.progress(id, 'completed');
    await shop.webhookOf(
      id,
      ({ sequence, state, attempts }) => sequence === 3 && state === 'disabled' && attempts === 1,
    );
    // The account's URL is disabled for this order only.
    receiver.answerWith(200);
    const other = await shop.order();
    await shop.webhookOf(other, ({ state }) => state === 'delivered');
  });

  test.each([
    [{ url: 'nonsense' }, '/data/url', 'invalid_url'],
    [{ url: 'https://user@shop.example/' }, '/data/url', 'invalid_url'],
    [{}, '/data/url', 'required'],
    [{ url: 'https://shop.example/', replaces: ['shop.example'] }, '/data/replaces/0', 'invalid_url'],
    [{ url: 'https://shop.example/', replaces: Array(21).fill('https://a.example') }, '/data/replaces', 'too_big'],
    [{ url: null, replaces: ['https://a.example'] }, '/data', 'required'],
    [{ url: null, replace: [] }, '/data/replace', 'unknown_field'],
  ])('%j is refused with an error that names the field', async (data, pointer, code) => {
    const shop = await newShop();
    const response = await shop.set(data);
    expect(expectProblem(response, 422, 'invalid_request').errors).toMatchObject([{ pointer, code }]);
    expect(await shop.get()).toEqual({ url: null, replaces: [], endpoints: [] });
  });

  test("of another seller is a 404, and so is the resend of another seller's order", async () => {
    const [shop, other] = [await newShop(), await newShop()];
    const id = await other.order({ webhook_url: receiver.url });
    const path = `${other.path}/webhook_endpoint/`;
    expectProblem(await shop.api.call('GET', path), 404, 'not_found');
    expectProblem(await shop.api.call('PUT', path, { body: { data: { url: receiver.url } } }), 404, 'not_found');
    expectProblem(await shop.resend({ order_id: id }), 404, 'not_found');
    expectProblem(await shop.resend({ created_before: '2030-01-01' }), 422, 'invalid_request');
  });
});

test('a URL of a host that is not public returns 422 for an order, an account and a test', () =>
  withApi(stack, { WEBHOOK_ALLOW_PRIVATE: 'false' }, async (api) => {
    const ask = (method: string, name: string, data: object) =>
      api.call(method, `${BASE}/seller/${stack.seller.id}/${name}/`, { body: { data } });
    for (const url of ['https://127.0.0.1/hooks', 'https://intranet/hooks'])
      for (const [pointer, response] of [
        ['/data/webhook_url', await api.create({ webhook_url: url })],
        ['/data/url', await ask('PUT', 'webhook_endpoint', { url })],
        ['/data/url', await ask('POST', 'webhook_test', { url })],
      ] as const)
        expect(expectProblem(response, 422, 'invalid_request').errors).toMatchObject([
          { code: 'invalid_url', pointer },
        ]);
  }));
