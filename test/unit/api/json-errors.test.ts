import * as fc from 'fast-check';
import { describeSyntaxError, scanJson } from '../../../src/api/json-errors';
import { jsonTestSuite } from '../../support/json-test-suite';

/** `§` precedes the error. */
test.each([
  '{"a": 1,§}',
  '{"a": 1 §"b": 2}',
  '{"a" §1}',
  '{"a":§}',
  '{§a: 1}',
  "{§'a': 1}",
  '{§,}',
  '[1,§]',
  '[1,§,2]',
  '[1 §2]',
  '[§}',
  '{"a": [1§}}',
  '§}',
  '1 §2',
  '{} §// comment',
  '{"a": §NaN}',
  '{"a": 0§1}',
  '{"a": §+1}',
  '{"a": 1§.}',
  '{"a": 1§e}',
  '{"a": §-}',
  '{"a": §True}',
  '{"a": §nul',
  '{"a": "b§\n"}',
  '{"a": "b§\\x41"}',
  '{"a": "b§\\u00',
  '"a" §"b"',
  '§\f{}',
  '§\u00a0{}',
  '§<order/>',
  // These end too early.
  '{"a": 1§',
  '{"a": [1, {"b": "c"}§',
  '{"a": "b§',
  '{"a": "b\\"§',
  '[§',
  '{"a": 1, §',
])('the error is found: %j', (marked) => {
  const text = marked.replace('§', '');
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(scanJson(text).end).toBe(marked.indexOf('§'));
});

test('valid JSON has no error, and JSON that is cut off has it at its end, or where the last word or number begins', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, cut) => {
      expect(scanJson(text).end).toBe(text.length);
      const part = text.slice(0, cut % text.length);
      const found = scanJson(part).end;
      if (found !== part.length) expect(part.slice(found)).toMatch(/^[a-z.eE+\-\\][\w+-]*$/);
    }),
  );
});

test('the valid cases of JSONTestSuite have no error, and a duplicate key only where the name says so', () => {
  const cases = jsonTestSuite().filter(({ name }) => name.startsWith('y_'));
  expect(cases).toHaveLength(95);
  for (const { name, bytes } of cases) {
    const text = bytes.toString();
    const { end, duplicate } = scanJson(text);
    expect([name, end, duplicate !== undefined]).toEqual([name, text.length, name.includes('duplicated_key')]);
  }
});

test('nothing that could follow the error makes the text valid', () => {
  const ends = [
    '',
    '"',
    '1',
    '}',
    ']',
    '":1}',
    '"}',
    '"]',
    ':1}',
    '1}',
    '1]',
    ',1]',
    ',"a":1}',
    'null}',
    'e1}',
    'u0000"}',
  ];
  let seen = 0;
  for (const { name, bytes } of jsonTestSuite()) {
    const text = bytes.toString();
    // Deep ones overflow the stack of JSON.parse in the loop below.
    if (!name.startsWith('n_') || text.length > 1000) continue;
    const index = scanJson(text).end;
    const wrong = text.slice(0, index + 1);
    // A word or a number could still become one.
    if (index < text.length && !/[\w.+\\-]$/.test(wrong))
      for (const end of ends) expect(() => JSON.parse(wrong + end)).toThrow(SyntaxError);
    seen++;
  }
  expect(seen).toBeGreaterThan(150);
});

test.each([
  [
    '{\r\n  "data": {\r\n    "amount": 1234.5,\r\n  }\r\n}',
    '`}` is unexpected at line 4, column 3, after `": 1234.5,`',
  ],
  ["{'data': 1}", "`'` is unexpected at line 1, column 2, after `{`"],
  ['<order/>', '`<` is unexpected at line 1, column 1'],
  ['{"data": {"amount": 1', 'it ends too early at line 1, column 22, after `amount": 1`'],
  ['{"data": "a\u0000b"}', '`\\u0000` is unexpected at line 1, column 12, after `"data": "a`'],
  ['["😀😀😀😀😀😀😀😀😀😀😀"😀', '`😀` is unexpected at line 1, column 26, after `😀😀😀😀😀😀😀😀😀"`'],
])('the description of an error has its line, its column and a few characters: %j', (text, description) => {
  expect(describeSyntaxError(text)).toBe(description);
});

test('deep bodies, and strings with millions of escapes, are inspected without recursion', () => {
  expect(scanJson('['.repeat(1_000_000)).end).toBe(1_000_000);
  const deep = `{"data":{"meta_data":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
  expect(scanJson(deep)).toEqual({ end: deep.length, duplicate: undefined });
  const escapes = `{"a":"${String.raw`\n\"`.repeat(4_000_000)}","b":1,"a":2`;
  expect(scanJson(`${escapes},}`)).toEqual({ end: escapes.length + 1, duplicate: ['a'] });
});

test.each([
  ['{"a":1,"b":2,"a":3}', '/a'],
  ['{"a":1,"\\u0061":2}', '/a'],
  ['{"data":{"amount":1,"amount":1}}', '/data/amount'],
  ['{"data":{},"data":{}}', '/data'],
  ['[{"x":1},[{"y":{"z":[],"z":[]}}]]', '/1/0/y/z'],
  ['{"__proto__":1,"__proto__":2}', '/__proto__'],
  ['{"":1 , "":2}', '/'],
  ['{"a\\"b":"}","c":"\\\\","a\\"b":1}', '/a"b'],
])('%s has the duplicate key %s', (text, pointer) => {
  expect(`/${scanJson(text).duplicate?.join('/')}`).toBe(pointer);
});

test.each(['1', '"a"', '[]', '{}', '[1,[2,{"a":[]}],"a"]', '{"a":{"a":{"a":"a"}},"b":["a","a"],"A":{"b":"a"}}'])(
  '%s has no duplicate key',
  (text) => {
    expect(scanJson(text).duplicate).toBeUndefined();
  },
);
