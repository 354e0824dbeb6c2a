import { accept, errorsOfData, parseJson } from '../../support/create-order-body';

describe('meta_data', () => {
  /** An object whose JSON, `{"a":"…"}`, has this many bytes. */
  const ofBytes = (bytes: number, unit = 'x') => ({ a: unit.repeat((bytes - 8) / Buffer.byteLength(unit)) });
  const nested = (depth: number): Record<string, unknown> => (depth === 1 ? {} : { a: nested(depth - 1) });

  test.each(['{"a":1e400}', '{"a":[{"b":-1e999}]}'])('%s is refused: it would be returned as null', (text) => {
    expect(errorsOfData({ meta_data: parseJson(text) })).toEqual(['/data/meta_data invalid_value']);
  });

  test("an empty list, PHP's empty map, means an empty object", () => {
    expect(accept({ meta_data: [] }).meta_data).toEqual({});
  });

  test('16 KiB of JSON are accepted, counted in bytes, and one byte more is refused', () => {
    expect(JSON.stringify(ofBytes(16 * 1024))).toHaveLength(16 * 1024);
    expect(errorsOfData({ meta_data: ofBytes(16 * 1024) })).toEqual([]);
    expect(errorsOfData({ meta_data: ofBytes(16 * 1024 + 1) })).toEqual(['/data/meta_data too_big']);
    expect(errorsOfData({ meta_data: ofBytes(16 * 1024, '😀') })).toEqual([]);
    expect(errorsOfData({ meta_data: ofBytes(16 * 1024 + 4, '😀') })).toEqual(['/data/meta_data too_big']);
  });

  test('a number with an exponent counts with all its digits, which Postgres stores', () => {
    expect(errorsOfData({ meta_data: { a: Array(40).fill(1e300) } })).toEqual([]);
    expect(errorsOfData({ meta_data: { a: Array(60).fill(1e300) } })).toEqual(['/data/meta_data too_big']);
    expect(errorsOfData({ meta_data: { a: Array(60).fill(1e-300) } })).toEqual(['/data/meta_data too_big']);
  });

  test('32 levels are accepted, and both 33 and 100,000 levels are refused with too_deep', () => {
    expect(errorsOfData({ meta_data: nested(32) })).toEqual([]);
    expect(errorsOfData({ meta_data: nested(33) })).toEqual(['/data/meta_data too_deep']);
    const deep = parseJson(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    expect(errorsOfData({ meta_data: deep })).toEqual(['/data/meta_data too_deep']);
  });

  test.each([
    '{"a":"x\\u0000"}',
    '{"x\\u0000":1}',
    '{"a":["\\ud800"]}',
    '{"a":{"\\udc00":1}}',
    '{"a":{"b":[{"c":"\\udfff\\ud800"}]}}',
  ])('%s is refused because many parsers cannot read it', (text) => {
    expect(errorsOfData({ meta_data: parseJson(text) })).toEqual(['/data/meta_data invalid_characters']);
  });

  test.each([[['a']], [[[]]], ['{}'], [1], [true]])('%j is refused because it is not an object', (meta_data) => {
    expect(errorsOfData({ meta_data })).toEqual(['/data/meta_data invalid_type']);
  });
});
