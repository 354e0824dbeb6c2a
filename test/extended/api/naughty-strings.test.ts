import { randomUUID } from 'node:crypto';
import { createCheckoutKey } from '../../../src/db/sellers';
import { type ApiResponse, type Api, apiOf, BASE, order } from '../../support/api';
import { type ApiServer, startApiWithoutTemporal } from '../../support/api-without-temporal';
import { useDatabase } from '../../support/database';
import { inBatches } from '../../support/in-batches';
import { NAUGHTY, plainReferences, plainTexts } from '../../support/naughty-strings';
import { expectProblem } from '../../support/problems';
import { sendRaw } from '../../support/raw-http';
import { createSeller, type TestSeller } from '../../support/stack';

jest.setTimeout(600_000);

const AT_ONCE = 20;

let server: ApiServer;
afterAll(() => server.stop());
const database = useDatabase();
let seller: TestSeller;
let api: Api;
// Production settings. test/extended/naughty-strings.test.ts covers the calls that need the workflow.
beforeAll(async () => {
  const env = { NODE_ENV: 'production', WEBHOOK_ALLOW_PRIVATE: 'false' };
  server = await startApiWithoutTemporal({ ...env, DATABASE_URL: database.url });
  seller = await createSeller(database.db);
  api = apiOf(server.url, seller, await createCheckoutKey(database.db));
});

const wellFormed = (text: string): string => Buffer.from(text).toString();
const encode = (text: string): string => encodeURIComponent(wellFormed(text));

/** The fields that a 422 names. Each must be one of `fields`. */
function refusedFields(response: ApiResponse, fields: string[]): string[] {
  const { errors } = expectProblem(response, 422, 'invalid_request');
  // The error of a key `__proto__` can lack a pointer.
  const named = errors.map(({ pointer }) => (pointer === undefined ? 'meta_data' : pointer.split('/')[2]!));
  expect(fields).toEqual(expect.arrayContaining(named));
  return [...new Set(named)];
}

/** Creates an order with those fields that the API does not refuse. */
async function createOf(fields: Record<string, unknown>): Promise<{ kept: string[]; shown: any; id: string }> {
  const first = await api.create(fields);
  const refused = first.status === 201 ? [] : refusedFields(first, Object.keys(fields));
  const kept = Object.keys(fields).filter((name) => !refused.includes(name));
  const body = { data: { ...order(), ...Object.fromEntries(kept.map((name) => [name, fields[name]])) } };
  const created = first.status === 201 ? first : await api.create({}, { body });
  expect(created.status).toBe(201);
  const { id, reference } = created.body.data;
  const shown = (await api.get(id)).body.data;
  expect(shown.reference).toBe(reference);
  return { kept, shown, id };
}

test('most naughty strings, but not all, are valid as plain text', () => {
  expect(plainTexts(255).length).toBeGreaterThan(400);
  expect(plainTexts(255).length).toBeLessThan(NAUGHTY.length - 20);
});

test('a naughty string in a text field is returned unchanged or refused by field', async () => {
  const kept = new Map<string, string[]>();
  await inBatches(NAUGHTY, AT_ONCE, async (text) => {
    const fields = { reference: text, source: text, meta_data: { [text]: { nested: [text] } } };
    const made = await createOf(fields);
    const { reference, source, meta_data } = made.shown;
    const expected = { ...fields, reference: text.normalize('NFC') };
    expect({ reference, source, meta_data }).toMatchObject(
      Object.fromEntries(made.kept.map((name) => [name, expected[name as keyof typeof expected]])),
    );
    for (const name of made.kept) kept.set(name, [...(kept.get(name) ?? []), text]);
  });
  const sorted = (texts: readonly string[] = []) => [...texts].sort();
  expect(sorted(kept.get('reference')?.map((text) => text.normalize('NFC')))).toEqual(sorted(plainReferences()));
  expect(sorted(kept.get('source'))).toEqual(sorted(plainTexts(100)));
  expect(sorted(kept.get('meta_data'))).toEqual(
    sorted(NAUGHTY.filter((text) => text !== '__proto__' && !/\0|\p{Surrogate}/u.test(text))),
  );
  const { rows } = await database.db.query('select reference from orders');
  expect(rows.map((row) => row.reference)).toEqual(expect.arrayContaining(plainReferences()));
});

test.each([
  ['a whole URL', (text: string) => text],
  ['a part of a URL', (text: string) => `https://shop.example/${text}?a=${text}#${text}`],
])('a naughty string as %s keeps its meaning or is refused by field', async (_, urlOf) => {
  await inBatches(NAUGHTY, AT_ONCE, async (text) => {
    const url = urlOf(text);
    const { kept, shown, id } = await createOf({ redirect_url: url, webhook_url: url });
    const partsOf = ({ host, pathname, hash }: URL) => [host, pathname, hash];
    const redirect = new URL(shown.redirect_url);
    expect(redirect.searchParams.getAll('orderId')).toEqual([id]);
    if (kept.includes('redirect_url')) expect(partsOf(redirect)).toEqual(partsOf(new URL(url)));
    const { rows } = await database.db.query('select webhook_url from orders where id = $1', [id]);
    expect(rows).toEqual([{ webhook_url: kept.includes('webhook_url') ? url : null }]);
  });
});

test('a naughty string in a field that is not free text is refused by field', async () => {
  const { id } = (await api.create()).body.data;
  const own = `${BASE}/seller/${seller.id}`;
  await inBatches(NAUGHTY, AT_ONCE, async (text) => {
    const post = (path: string, data: unknown, key = seller.key) => api.call('POST', path, { key, body: { data } });
    const calls: [string, Promise<ApiResponse>][] = [
      ['url', post(`${own}/webhook_test/`, { url: text })],
      ['overlap_seconds', post(`${own}/webhook_secret/rotate/`, { overlap_seconds: text })],
      ['amount', post(`${own}/order/`, { ...order(), amount: text })],
      ['event', post(`${BASE}/order/${id}/progress/`, { event: text }, api.checkoutKey)],
    ];
    for (const [field, response] of calls) expect(refusedFields(await response, [field])).toEqual([field]);
  });
});

test('a naughty string as the reason of a progress event is accepted or refused by field', async () => {
  const { id } = (await api.create()).body.data;
  const plain = plainTexts(500);
  await inBatches(NAUGHTY, AT_ONCE, async (text) => {
    // A checkout cannot report this event, so the call does not reach Temporal.
    const response = await api.progress(id, 'created', text);
    expect(refusedFields(response, ['event', 'reason'])).toEqual(
      plain.includes(text) ? ['event'] : ['event', 'reason'],
    );
  });
});

test('a naughty string as a search parameter or its name is refused by parameter', async () => {
  const { id } = (await api.create()).body.data;
  const lists = [`/seller/${seller.id}/webhook_event/`, `/order/${id}/timeline/`];
  await inBatches(NAUGHTY, AT_ONCE, async (text) => {
    const value = encode(text);
    for (const list of lists) {
      const response = await api.call('GET', `${BASE}${list}?limit=${value}&cursor=${value}&state=${value}&${value}=1`);
      const { errors } = expectProblem(response, 422, 'invalid_request');
      const named = errors.map(({ parameter }) => parameter);
      expect(named).toContain(wellFormed(text));
      expect(['limit', 'cursor', 'state', wellFormed(text)]).toEqual(expect.arrayContaining(named));
    }
  });
});

test('a naughty string in the path returns 404', async () => {
  const paths = ['/order/?/', '/seller/?/connection_check/'];
  // HTTP clients resolve these as relative path segments.
  const texts = NAUGHTY.filter((text) => !['', '.', '..'].includes(text));
  await inBatches(texts, AT_ONCE, async (text) => {
    for (const path of paths) {
      expectProblem(await api.call('GET', BASE + path.replace('?', () => encode(text))), 404, 'not_found');
    }
  });
});

describe('naughty strings as raw header bytes', () => {
  /** The status and the head of the response to a create call. */
  async function createWith(headers: Record<string, string>): Promise<{ status: number; head: string }> {
    const body = JSON.stringify({ data: order() });
    const given = {
      ...{ Host: 'x', Connection: 'close', Authorization: `Bearer ${seller.key}`, 'Content-Type': 'application/json' },
      ...headers,
      'Content-Length': String(Buffer.byteLength(body)),
    };
    const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
    const raw = await sendRaw(
      api.url,
      `POST ${BASE}/seller/${seller.id}/order/ HTTP/1.1\r\n${lines.join('')}\r\n${body}`,
    );
    const [head = ''] = raw.split('\r\n\r\n');
    return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]), head };
  }

  test.each([
    [['Idempotency-Key'], [201, 400]],
    [
      ['X-Request-Id', 'traceparent', 'tracestate', 'Accept', 'User-Agent', 'X-Forwarded-For'],
      [201, 400],
    ],
    [['Authorization'], [400, 401]],
    [['Content-Type'], [400, 415]],
  ])('in %s return an expected status and inject no header', async (names, statuses) => {
    const seen = new Set<number>();
    await inBatches(NAUGHTY, AT_ONCE, async (text) => {
      const { status, head } = await createWith(Object.fromEntries(names.map((name) => [name, text])));
      seen.add(status);
      const requestId = /^X-Request-Id: (.*)$/im.exec(head)?.[1];
      // Node itself answers what is no HTTP.
      if (status !== 400) expect(requestId).toMatch(/^[\w.:/+=-]{1,128}$/);
      expect(head).not.toContain('X-Injected');
    });
    expect([...seen].sort()).toEqual(statuses);
  });
});

test('the service still creates orders after all naughty strings', async () => {
  expect((await api.create({ reference: randomUUID() })).status).toBe(201);
});
