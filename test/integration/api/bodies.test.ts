import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type ApiResponse, BASE } from '../../support/api';
import { expectProblem, pointers } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();

/** Sends a create call with exactly this body. */
async function post(body: Buffer | string | null, headers: Record<string, string> = {}): Promise<ApiResponse> {
  const { api, seller } = stack;
  const response = await fetch(`${api.url}${BASE}/seller/${seller.id}/order/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${seller.key}`, 'Content-Type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

const order = (reference: string, rest = '') => `{"data": {"amount": 1, "reference": "${reference}"${rest}}}`;
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

const NOT_JSON: [string, Buffer | string][] = [
  ['an empty body', ''],
  ['a truncated object', '{"data": {"amount": 1'],
  ['UTF-8 that is cut off', bytes('{"data": {"reference": "', [0xe2, 0x82], '"}}')],
  ['a byte that UTF-8 does not use', bytes('{"data": {"reference": "', [0xff], '"}}')],
  ['an encoded surrogate', bytes('{"data": {"reference": "', [0xed, 0xa0, 0x80], '"}}')],
  ['Latin-1', Buffer.from('{"data": {"reference": "caf\u00e9"}}', 'latin1')],
  ['UTF-16', Buffer.from(`\ufeff${order('utf16')}`, 'utf16le')],
  ['a form', 'amount=1&reference=x'],
];

test.each(NOT_JSON)('a body that is not JSON returns 400: %s', async (_, body) => {
  expectProblem(await post(body), 400, 'malformed_json');
});

test('the error of a body that is not JSON shows the line, the column and a few characters', async () => {
  const detailOf = async (body: Buffer | string) => expectProblem(await post(body), 400, 'malformed_json').detail;
  expect(await detailOf('{\n  "data": {\n    "amount": 1234.5,\n  }\n}')).toBe(
    'The body is not valid JSON: property name expected at line 4, column 3, after `": 1234.5,`.',
  );
  expect(await detailOf(bytes('{"data": {"reference": "caf', [0xe9], '"}}'))).toBe(
    'The body is not valid UTF-8, or contains U+FFFD, the replacement character, at line 1, column 28, after `nce": "caf`.',
  );
});

const fieldsOf = (count: number) => Array.from({ length: count }, (_, index) => `"f${index}": 1`).join();

/** Valid JSON that is not a valid create request. */
const INVALID_REQUESTS: [string, string, string[]][] = [
  ['a list', '[]', [' invalid_type']],
  ['null', 'null', [' required']],
  ['an empty object', '{}', ['/data required']],
  ['7,000 nested objects', '{"data":'.repeat(7000) + '1' + '}'.repeat(7000), [' too_deep']],
  ['a lone surrogate', order('\\ud800'), ['/data/reference invalid_characters']],
  ['an escaped NUL', order('a\\u0000b'), ['/data/reference invalid_characters']],
  [
    'keys given twice after a value 101 deep',
    `{"data": {"meta_data": ${'['.repeat(101)}${']'.repeat(101)}, "meta_data": {}, "amount": 1, "amount": 1000}}`,
    [' too_deep'],
  ],
  ['2,001 fields', order('many', `, "meta_data": {${fieldsOf(1997)}}`), [' too_big']],
];

test.each(INVALID_REQUESTS)('JSON that is not a valid create request returns 422: %s', async (_, body, errors) => {
  expect(pointers(expectProblem(await post(body), 422, 'invalid_request'))).toEqual(errors);
});

test.each([
  ['in data', order('twice', ', "amount": 2'), '/data/amount'],
  ['in meta_data', order('twice', ', "meta_data": {"a": [1, {"b": 1, "b": 1}]}'), '/data/meta_data/a/1/b'],
])('a duplicate key %s is refused with its pointer', async (_, body, pointer) => {
  expect(pointers(expectProblem(await post(body), 422, 'invalid_request'))).toEqual([`${pointer} duplicate_key`]);
});

test.each([
  ['in data', '{"data": {"amount": 0, "__proto__": {"reference": "p"}}}', '/data/__proto__ unknown_field'],
  [
    'in meta_data',
    '{"data": {"amount": 0, "reference": "p", "meta_data": {"a": [{"__proto__": {"b": 1}}]}}}',
    '/data/meta_data forbidden_key',
  ],
])('a key __proto__ %s is refused with its pointer, together with all other errors', async (_, body, error) => {
  const problem = expectProblem(await post(body), 422, 'invalid_request');
  expect(pointers(problem)).toEqual(expect.arrayContaining(['/data/amount too_small', error]));
  expect(({} as Record<string, unknown>).amount).toBeUndefined();
});

test.each([
  ['surrounding white space', ` \r\n\t${order('blanks')}\n`],
  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], order('mark'))],
  ['escaped characters', order('\\u0065scaped \\uD83D\\uDE00')],
  ['the word __proto__ as a value', order('__proto__: 1')],
  ['2,000 fields and items', order('2000', `, "meta_data": {"a": [${'1,'.repeat(1994)}1]}`)],
])('a body with %s is accepted', async (_, body) => {
  expect((await post(body)).status).toBe(201);
});

test('an unknown field beyond the fiftieth error does not hide an invalid field', async () => {
  const problem = expectProblem(await post(`{"data": {"amount": 0, ${fieldsOf(60)}}}`), 422, 'invalid_request');
  expect(problem.errors).toHaveLength(50);
  expect(pointers(problem).slice(0, 2)).toEqual(['/data/amount too_small', '/data/reference required']);
  expect(problem.detail).toMatch(/; and 40 more, see errors\.$/);
});

describe('the content type', () => {
  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/problem+json'])(
    '%s returns 415',
    async (type) => {
      expectProblem(await post(order('type'), { 'Content-Type': type }), 415, 'unsupported_media_type');
    },
  );

  test.each(['utf-16', 'UTF-16LE', 'iso-8859-1', '"utf-7"'])('with charset %s returns 415', async (charset) => {
    const type = `application/json; charset=${charset}`;
    const problem = expectProblem(await post(order('type'), { 'Content-Type': type }), 415, 'unsupported_media_type');
    expect(problem.detail).toMatch(/UTF-8/);
  });

  test('a body without a Content-Type returns 415', async () => {
    const { api, seller } = stack;
    const url = `${api.url}${BASE}/seller/${seller.id}/order/`;
    const headers = { Authorization: `Bearer ${seller.key}` };
    const response = await fetch(url, { method: 'POST', headers, body: Buffer.from(order('type')) });
    expect(response.headers.get('Content-Type')).toContain('problem+json');
    expect(response.status).toBe(415);
  });

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    '%s is accepted',
    async (type) => {
      expect((await post(order(type.replaceAll('"', '')), { 'Content-Type': type })).status).toBe(201);
    },
  );
});

test('a body of up to 64 KiB is accepted', async () => {
  const body = order('large').padEnd(64 * 1024);
  expect((await post(body)).status).toBe(201);
  expectProblem(await post(`${body} `), 413, 'payload_too_large');
});

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['zstd', (body: Buffer) => body],
])('the content encoding %s returns 415, because a few bytes can expand to megabytes', async (encoding, compress) => {
  const body = Buffer.from(compress(Buffer.from(order('compressed'))));
  const response = await post(body, { 'Content-Encoding': encoding });
  expect(expectProblem(response, 415, 'unsupported_media_type').detail).toBe(
    'Send the body in UTF-8 and uncompressed.',
  );
});

test('no refused request created an order', async () => {
  const refused = ['type', 'x', 'p', 'many', 'utf16', 'compressed'];
  const { rows } = await stack.db.query('select reference from orders where reference = any($1)', [refused]);
  expect(rows).toEqual([]);
});
