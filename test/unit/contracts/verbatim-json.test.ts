import { recordSource, sourceOf, stringify, verbatim } from '../../../src/contracts/verbatim-json';

test.each(['{}', '{ "10": 1.10,\n"9": 1e400 }', '{"a":"\\"quoted\\" \\\\ \\u00e9 $& $1"}', '{"emoji":"🎉\u2028"}'])(
  'the JSON text %s is written unchanged, wherever it occurs',
  (text) => {
    expect(stringify({ before: 'a"b\\', list: [verbatim(text), 1, verbatim(text)] })).toBe(
      `{"before":"a\\"b\\\\","list":[${text},1,${text}]}`,
    );
  },
);

test('other values are written as JSON.stringify writes them', () => {
  const value = { a: [1, 'json:', null, { b: '{"c":1}' }], at: new Date(0) };
  expect(stringify(value)).toBe(JSON.stringify(value));
  expect(stringify(value, 2)).toBe(JSON.stringify(value, null, 2));
});

test('the source of an object is its recorded text, or else its JSON', () => {
  const parsed = { a: 1 };
  expect(sourceOf(parsed)).toBe('{"a":1}');
  recordSource(parsed, '{ "a": 1.0 }');
  expect(sourceOf(parsed)).toBe('{ "a": 1.0 }');
});
