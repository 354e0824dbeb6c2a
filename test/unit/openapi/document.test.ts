import { FIELD_ERROR_CODES, PROBLEMS } from '../../../src/contracts/problem-table';
import { ACTORS, CHANNELS } from '../../../src/domain/order';
import type { ApiResponse } from '../../support/api';
import { document, expectDocumented, misfits, operations, resolve } from '../../support/contract';

/** Every object in the document, with its path. */
function* nodes(node: unknown, place: string[] = []): Generator<{ node: any; place: string[] }> {
  if (typeof node !== 'object' || node === null) return;
  yield { node, place };
  for (const [key, value] of Object.entries(node)) yield* nodes(value, [...place, key]);
}
const all = [...nodes(document)];
const webhooks = Object.entries(document.webhooks ?? {}).map(([name, item]) => ({
  operation: item.post as any,
  place: ['webhooks', name, 'post'],
}));

test('every call has tags that are defined, and webhooks have none', () => {
  const tags = document.tags?.map(({ name }) => name);
  for (const { operation } of operations) expect(tags).toEqual(expect.arrayContaining(operation.tags));
  // Generators put the operations of a tag into one class, so that the webhooks would replace the calls of their tag.
  expect(webhooks.flatMap(({ operation }) => operation.tags ?? [])).toEqual([]);
});

test('every field, header and parameter has a description, a reference, an example or fixed values', () => {
  const undocumented = all.flatMap(({ node, place }) => {
    const named = ['properties', 'headers', 'parameters'].includes(place.at(-2) ?? '') && !place.includes('examples');
    const documentation = node.description ?? node.$ref ?? node.enum ?? node.const ?? node.examples ?? node.allOf;
    const isBody = place.at(-1) === 'data';
    return named && !isBody && documentation === undefined ? [place.join('/')] : [];
  });
  expect(undocumented).toEqual([]);
});

test('request schemas refuse unknown fields at every level with named fields', () => {
  const bodies = operations.flatMap(({ place, operation }) =>
    operation.requestBody ? [resolve([...place, 'requestBody', 'content', 'application/json', 'schema']).value] : [],
  );
  expect(bodies).toHaveLength(9);
  const data = bodies.map(({ properties }) =>
    resolve(['components', 'schemas', properties.data.$ref.split('/').at(-1)]),
  );
  const open = [...bodies, ...data.map(({ value }) => value)].flatMap((body) =>
    [...nodes(body)].filter(({ node }) => node.properties && node.additionalProperties !== false),
  );
  expect(open).toEqual([]);
});

test.each([0.01, 33.33, 8_192_000.29, 0.1 + 0.2])('a JSON Schema validator accepts the amount %d', (amount) => {
  const body = (value: unknown) => ({ data: { amount: value, reference: 'web-100042' } });
  const schema = ['components', 'schemas', 'CreateOrderRequest'];
  expect(misfits(schema, body(amount))).toEqual([]);
  expect(misfits(schema, body(0))).not.toEqual([]);
  expect(misfits(schema, body(10_000_000.01))).not.toEqual([]);
});

test('every error code is documented in at least one response', () => {
  const codes = all.flatMap(({ node }) => Object.keys(node.content?.['application/problem+json']?.examples ?? {}));
  // No operation returns a 405. The description of the document explains it.
  expect([...new Set(codes), 'method_not_allowed'].sort()).toEqual(Object.keys(PROBLEMS).sort());
  expect(document.info.description).toContain('405 (`method_not_allowed`)');
});

test('every example is valid against its schema', () => {
  let seen = 0;
  for (const { node, place } of all) {
    const isSchema =
      ['schema', 'schemas'].includes(place.at(-2) ?? '') || place.includes('properties') || place.at(-1) === 'schema';
    if (node.schema && (node.examples ?? node.example)) {
      for (const value of 'example' in node
        ? [node.example]
        : Object.values<any>(node.examples).map((it) => it.value)) {
        expect([place, misfits([...place, 'schema'], value)]).toEqual([place, []]);
        seen++;
      }
    } else if (isSchema && Array.isArray(node.examples)) {
      for (const value of node.examples) expect([place, misfits(place, value)]).toEqual([place, []]);
      seen++;
    }
  }
  expect(seen).toBeGreaterThan(100);
});

test('every example of a problem has its code and status', () => {
  const problems = all.flatMap(({ node }) =>
    Object.entries<any>(node.content?.['application/problem+json']?.examples ?? {}),
  );
  expect(problems.length).toBeGreaterThan(Object.keys(PROBLEMS).length);
  for (const [code, { value }] of problems) {
    expect(value).toMatchObject({ code, status: PROBLEMS[code as keyof typeof PROBLEMS].status });
  }
});

describe('generators of clients', () => {
  const schemas = all.filter(({ place }) => !place.includes('examples') && !place.includes('example'));
  const placesOf = (isBad: (node: any, place: string[]) => unknown): string[] =>
    schemas.filter(({ node, place }) => isBad(node, place)).map(({ place }) => place.join('/'));

  test('use 64-bit floats, because every number that is not whole has the format double', () => {
    expect(placesOf(({ type, format }) => [type].flat().includes('number') && format !== 'double')).toEqual([]);
    expect(placesOf(({ format }) => format === 'double').length).toBeGreaterThanOrEqual(5);
  });

  test('do not apply a pattern to a value that they have parsed', () => {
    expect(placesOf(({ format, pattern }) => pattern && ['date', 'date-time', 'uuid'].includes(format))).toEqual([]);
    expect(placesOf(({ type, pattern }) => pattern && ![type].flat().includes('string'))).toEqual([]);
  });

  test('accept new error codes, because the known codes are only described', () => {
    const codes = ['Problem', 'FieldError'].map((name) => (document.components?.schemas as any)[name].properties.code);
    for (const { type, enum: values, description } of codes) {
      expect([type, values]).toEqual(['string', undefined]);
      for (const code of Object.keys(PROBLEMS)) expect(description).toContain(`\`${code}\``);
    }
    for (const code of FIELD_ERROR_CODES) expect(codes[1].description).toContain(`\`${code}\``);
  });

  test('accept new actors and channels, because the known ones are only described', () => {
    for (const [name, known, fields] of [
      ['actor', ACTORS, 3],
      ['channel', CHANNELS, 2],
    ] as const) {
      const found = schemas.filter(({ place }) => place.at(-2) === 'properties' && place.at(-1) === name);
      expect(found).toHaveLength(fields);
      for (const { node } of found) {
        expect([node.type, node.enum]).toEqual(['string', undefined]);
        for (const value of known) expect(node.description).toContain(`\`${value}\``);
      }
    }
  });

  test('fail at new values of these enums only, which docs/sellers/api-guide.md therefore fixes', () => {
    const places = placesOf((node) => node.enum).filter((place) => !place.includes('/headers/'));
    const fixed = ['OrderStatus', 'PaymentTerm', 'ProgressEvent', 'SimulatedEvent', 'WebhookState'];
    expect(places.sort()).toEqual(fixed.map((name) => `components/schemas/${name}`));
  });
});

describe('the check of a response against the document', () => {
  const path = '/api/lending/edge/ecommerce/seller/{supplier_uuid}/connection_check/';
  const headers = {
    'X-Request-Id': 'a',
    'Cache-Control': 'no-store',
    RateLimit: '"key";r=9;t=1',
    'RateLimit-Policy': '"key";q=10;w=1',
    'Content-Type': 'application/json',
  };
  const data = { seller_id: 'c0a8012e-1d5f-4b7a-8f3e-6a2b9d4c5e70', seller_name: 'My shop' };
  const good = { status: 200, headers, body: { data } };
  const check = (response: Partial<typeof good>) => () => {
    const { status, headers, body } = { ...good, ...response };
    expectDocumented('GET', path, {
      status,
      headers: new Headers(headers),
      body,
      text: '',
    } satisfies ApiResponse);
  };

  test.each([
    ['an unknown status', { status: 418 }, 'the status is not documented'],
    ['an unknown header', { headers: { ...good.headers, 'X-New': '1' } as any }, 'the header x-new is not documented'],
    ['an invalid value', { body: { data: { ...data, seller_name: 1 } } as any }, '/data/seller_name must be string'],
    [
      'an unknown field',
      { body: { data: { ...data, more: 1 } } as any },
      'must NOT have unevaluated properties {"unevaluatedProperty":"more"}',
    ],
    ['a missing field', { body: { data: {} } as any }, 'must have required property'],
  ])('refuses a response with %s', (_name, response, reason) => {
    expect(check(response)).toThrow(reason);
  });
});
