import { createdOrderSchema, orderSchema } from '../../../src/contracts/order-schemas';
import { updateSeller, insertSeller } from '../../../src/db/sellers';
import { createSellerKey } from '../../support/keys';
import { type Api, BASE, apiOf } from '../../support/api';
import { expectProblem, pointers } from '../../support/problems';
import { createSeller, useStack } from '../../support/stack';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const stack = useStack({ worker: false });

/** An API client of another seller. */
async function anotherSeller(defaultRedirectUrl: string | null) {
  const seller = await createSeller(stack.db, defaultRedirectUrl);
  return apiOf(stack.api.url, seller, stack.api.checkoutKey);
}

describe('a create call', () => {
  test('returns 201 with exactly the fields of the specification', async () => {
    const { status, body } = await stack.api.create({ amount: 1234.5, reference: 'order 17' });
    expect(status).toBe(201);
    expect(body).toEqual({
      data: {
        id: expect.stringMatching(UUID_V4),
        amount: 1234.5,
        reference: 'order 17',
        order_url: expect.stringMatching(/^https:\/\/checkout\.example\/pay\/[0-9a-f-]{36}\/$/),
        status: 'CREATED',
        allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
      },
    });
    expect(createdOrderSchema.strict().safeParse(body.data).error).toBeUndefined();
  });

  test('returns JSON and a Location that leads to the order', async () => {
    const { headers, body } = await stack.api.create();
    expect(headers.get('Content-Type')).toMatch(/^application\/json\b/);
    expect(headers.get('Location')).toBe(`${BASE}/order/${body.data.id}/`);
    const read = await stack.api.call('GET', headers.get('Location')!);
    expect(read.body.data.id).toBe(body.data.id);
  });

  test('accepts a choice of payment terms', async () => {
    const { body } = await stack.api.create({ allowed_payment_terms: ['PAY_LATER'] });
    expect(body.data.allowed_payment_terms).toEqual(['PAY_LATER']);
    expect((await stack.api.get(body.data.id)).body.data.allowed_payment_terms).toEqual(['PAY_LATER']);
  });
});

describe('a retrieve call', () => {
  test('returns 200 with the fields of the specification and order_url', async () => {
    const created = await stack.api.create({ amount: 99.99, reference: 'order 18' });
    const { id, order_url } = created.body.data;
    const { status, headers, body } = await stack.api.get(id);
    expect(status).toBe(200);
    expect(headers.get('Content-Type')).toMatch(/^application\/json\b/);
    expect(body).toEqual({
      data: {
        id,
        amount: 99.99,
        reference: 'order 18',
        redirect_url: `https://shop.example/done?orderId=${id}`,
        pricing: { representative_interest: 0, promotions: [] },
        pay_link_id: expect.stringMatching(UUID_V4),
        seller_name: 'Test Shop Ltd',
        status: 'CREATED',
        allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
        order_url,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        updated_at: body.data.created_at,
      },
    });
    expect(order_url).toBe(`https://checkout.example/pay/${body.data.pay_link_id}/`);
    expect(orderSchema.strict().safeParse(body.data).error).toBeUndefined();
  });

  test('works with and without a trailing slash and on the seller-scoped path', async () => {
    const { api, seller } = stack;
    const { id } = (await api.create()).body.data;
    const paths = [
      `/order/${id}/`,
      `/order/${id}`,
      `/seller/${seller.id}/order/${id}/`,
      `/seller/${seller.id}/order/${id}`,
    ];
    const responses = await Promise.all(paths.map((path) => api.call('GET', BASE + path)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
  });

  test('accepts an id in capitals', async () => {
    const { id } = (await stack.api.create()).body.data;
    const { status, body } = await stack.api.get(id.toUpperCase());
    expect(status).toBe(200);
    expect(body.data.id).toBe(id);
  });

  test('returns the seller name and pricing from the time of creation', async () => {
    const { db, api } = stack;
    const seller = { id: crypto.randomUUID(), name: 'Promoting Shop' };
    const promotions = [{ name: 'Spring', interestFreeDays: 90, validUntil: '2027-01-31' }];
    await insertSeller(db, seller.id, seller.name);
    const pricing = { representativeInterest: 9.9, promotions };
    await updateSeller(db, seller.id, { defaultRedirectUrl: 'https://shop.example/', pricing });
    const theirs = apiOf(api.url, { id: seller.id, key: await createSellerKey(db, seller.id) }, api.checkoutKey);
    const { id } = (await theirs.create()).body.data;
    await db.query(
      `update seller set name = 'Renamed', pricing = '{"representativeInterest": 1, "promotions": []}'
      where id = $1`,
      [seller.id],
    );
    const { data } = (await theirs.get(id)).body;
    expect(data.seller_name).toBe('Promoting Shop');
    expect(data.pricing).toEqual({
      representative_interest: 9.9,
      promotions: [{ name: 'Spring', interest_free_days: 90, valid_until: '2027-01-31' }],
    });
  });
});

describe('redirect_url', () => {
  test('overrides the account’s default and gets the order’s id as a parameter', async () => {
    const redirect_url = 'https://other.example/thanks?cart=a%20b+c#top';
    const { id } = (await stack.api.create({ redirect_url })).body.data;
    const { data } = (await stack.api.get(id)).body;
    expect(data.redirect_url).toBe(`https://other.example/thanks?cart=a%20b+c&orderId=${id}#top`);
  });

  test('is sufficient if the account has no default', async () => {
    const api = await anotherSeller(null);
    expect((await api.create({ redirect_url: 'https://shop.example/' })).status).toBe(201);
  });
});

describe('cancel_url', () => {
  const cancelUrlOf = async (api: Api, fields: Record<string, unknown>) => {
    const { id } = (await api.create(fields)).body.data;
    const { data } = (await api.get(id)).body;
    return (data.cancel_url as string | undefined)?.replace(id, '<id>');
  };

  test('is returned with the order’s id as a parameter', async () => {
    const cancel_url = 'https://other.example/cart?a=b%20c#top';
    expect(await cancelUrlOf(stack.api, { cancel_url })).toBe('https://other.example/cart?a=b%20c&orderId=<id>#top');
  });

  test('defaults to the account’s setting, also if it is null, and is optional', async () => {
    const seller = await createSeller(stack.db);
    const api = apiOf(stack.api.url, seller, stack.api.checkoutKey);
    expect(await cancelUrlOf(api, {})).toBeUndefined();
    await updateSeller(stack.db, seller.id, { defaultCancelUrl: 'https://shop.example/cart' });
    // The API remembers the account of a key for a second.
    const changed = { ...seller, key: await createSellerKey(stack.db, seller.id) };
    const later = apiOf(stack.api.url, changed, stack.api.checkoutKey);
    expect(await cancelUrlOf(later, {})).toBe('https://shop.example/cart?orderId=<id>');
    expect(await cancelUrlOf(later, { cancel_url: null })).toBe('https://shop.example/cart?orderId=<id>');
    expect(await cancelUrlOf(later, { cancel_url: 'http://x.example' })).toBe('http://x.example/?orderId=<id>');
  });

  test('is refused under the rules of redirect_url', async () => {
    const refused = await stack.api.create({ cancel_url: 'https://user@shop.example/' });
    expect(pointers(expectProblem(refused, 422, 'invalid_request'))).toEqual(['/data/cancel_url invalid_url']);
  });
});

describe('source and meta_data', () => {
  test.each([
    '{"cart":{"id":7,"items":[1,2.5,null,true]},"note":"a\\nb"}',
    '{"10":"keys","9":"in","b":"their","a":"order"}',
    '{"constructor":{"prototype":1},"toString":"x"}',
    '{ "price": 1.10,\n"list": [ 0, 1E2, 1e-400, 1e308 ], "e": "\\u00e9\\/" }',
    '{}',
  ])('are returned as they were sent, with other keys first and other spaces: %s', async (text) => {
    const { api, seller } = stack;
    const body = `{"data": {"amount": 1, "reference": "${crypto.randomUUID()}", "source": "shop 1.0", "meta_data": ${text}}}`;
    const created = await api.call('POST', `${BASE}/seller/${seller.id}/order/`, { body });
    expect(created.status).toBe(201);
    expect(created.body.data).not.toHaveProperty('meta_data');
    const retrieved = await api.get(created.body.data.id);
    expect(retrieved.body.data.source).toBe('shop 1.0');
    const listed = await api.call('GET', `${BASE}/seller/${seller.id}/order/?limit=1`);
    const sent: unknown = JSON.parse(text);
    expect([retrieved.body.data.meta_data, listed.body.data[0].meta_data]).toEqual([sent, sent]);
  });

  test.each(['注文 👍🏽', "Robert'); drop table orders;--", '${7*7} {{7*7}} %s %00', '<img src=x onerror=alert(1)>'])(
    'are returned unchanged, like references: %s',
    async (reference) => {
      const created = await stack.api.create({ reference, source: reference, meta_data: { [reference]: reference } });
      expect(created.body.data.reference).toBe(reference);
      const { data } = (await stack.api.get(created.body.data.id)).body;
      expect(data).toMatchObject({ reference, source: reference, meta_data: { [reference]: reference } });
    },
  );
});

describe('the amount', () => {
  test.each([
    ['0.01', '0.01'],
    ['0.30000000000000004', '0.3'],
    ['4.35', '4.35'],
    ['10000000.00', '10000000'],
  ])('%s is %s in the responses and in Postgres', async (sent, shown) => {
    const { api, seller, db } = stack;
    const body = `{"data": {"amount": ${sent}, "reference": "${crypto.randomUUID()}"}}`;
    const created = await api.call('POST', `${BASE}/seller/${seller.id}/order/`, { body });
    expect(created.text).toContain(`"amount":${shown},`);
    const { id } = created.body.data;
    expect((await api.get(id)).text).toContain(`"amount":${shown},`);
    const { rows } = await db.query('select amount_pence::text from orders where id = $1', [id]);
    expect(rows[0].amount_pence).toBe((Number(shown) * 100).toFixed(0));
  });
});

test('connection_check returns 200 if key and seller match', async () => {
  const { api, seller } = stack;
  for (const path of [`/seller/${seller.id}/connection_check/`, `/seller/${seller.id}/connection_check`]) {
    const { status, body } = await api.call('GET', BASE + path);
    expect(status).toBe(200);
    expect(body).toEqual({ data: { seller_id: seller.id, seller_name: 'Test Shop Ltd' } });
  }
});
