import * as fc from 'fast-check';
import { describeSyntaxError, findFault, findSyntaxError } from '../../../src/api/json-errors';
import { MAX_BODY_PARTS } from '../../../src/contracts/fields';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test('only a text that JSON.parse refuses has an error', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, cut) => {
      expect([findFault(text), findSyntaxError(text)]).toEqual([undefined, undefined]);
      const part = text.slice(0, cut % text.length);
      expect([part, findSyntaxError(part) === undefined]).toEqual([part, isJson(part)]);
    }),
  );
});

/** `§` precedes the error. */
test.each([
  [
    '{\r\n  "data": {\r\n    "amount": 1234.5,\r\n  §}\r\n}',
    'property name expected at line 4, column 3, after `": 1234.5,`',
  ],
  ["{§'data': 1}", 'invalid symbol at line 1, column 2, after `{`'],
  ['§<order/>', 'invalid symbol at line 1, column 1'],
  ['{"data": {"amount": 1§', 'close brace expected at line 1, column 22, after `amount": 1`'],
  ['{"data": §"a\u0000b"}', 'invalid character at line 1, column 10, after `{"data":`'],
  ['["😀😀😀😀😀😀😀😀😀😀😀"§😀', 'invalid symbol at line 1, column 26, after `😀😀😀😀😀😀😀😀😀"`'],
  ['{"a": 1 §"b": 2}', 'comma expected at line 1, column 9, after `{"a": 1`'],
  ['{} §// comment', 'invalid comment token at line 1, column 4, after `{}`'],
  ['{"a": §NaN}', 'invalid symbol at line 1, column 7, after `{"a":`'],
  ['{"a": §"b\n"}', 'unexpected end of string at line 1, column 7, after `{"a":`'],
  ['§\u00a0{}', 'invalid symbol at line 1, column 1'],
])('the description of an error has its line, its column and a few characters: %j', (marked, description) => {
  const text = marked.replace('§', '');
  expect(isJson(text)).toBe(false);
  expect([findSyntaxError(text)?.index, describeSyntaxError(text)]).toEqual([marked.indexOf('§'), description]);
});

test('a body with 100 levels is read, and a deeper one is not, whatever follows', () => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  expect(
    [deep(100), deep(101), '['.repeat(1_048_576), '{"a":'.repeat(200_000)].map((text) => findFault(text)?.code),
  ).toEqual([undefined, 'too_deep', 'too_deep', 'too_deep']);
});

test.each<[what: string, of: (count: number) => string]>([
  ['fields', (count) => `{${Array.from({ length: count }, (_, index) => `"${index}":","`).join()}}`],
  ['items', (count) => `[${Array(count).fill('"a:,[b"').join()}]`],
  [
    'fields of objects in a list',
    (count) =>
      `[${Array(count / 2)
        .fill('{"a":{}}')
        .join()}]`,
  ],
  ['lists', (count) => `[${'[0],'.repeat((count - 2) / 2)}0]`],
])('a body has at most 2,000 fields and list items: %s', (_, of) => {
  expect([isJson(of(MAX_BODY_PARTS)), findFault(of(MAX_BODY_PARTS))]).toEqual([true, undefined]);
  const detail = 'must have at most 2000 fields and list items';
  expect(findFault(of(MAX_BODY_PARTS + 2))).toEqual({ code: 'too_big', detail, pointer: '' });
});

test('neither millions of escapes nor a text without an end holds it up', () => {
  const escapes = String.raw`\n\"`.repeat(4_000_000);
  expect(findFault(`{"a":"${escapes}","b":1,"a":2}`)).toMatchObject({ code: 'duplicate_key', pointer: '/a' });
  expect(findFault(`{"a":"${escapes}`)).toBeUndefined();
});

test.each([
  ['{"a":1,"b":2,"a":3}', '/a'],
  ['{"a":1,"\\u0061":2}', '/a'],
  ['{"data":{"amount":1,"amount":1}}', '/data/amount'],
  ['[{"x":1},[{"y":{"z":[],"z":[]}}]]', '/1/0/y/z'],
  ['{"__proto__":1,"__proto__":2}', '/__proto__'],
  ['{"a\\"b":"}","c":"\\\\","a\\"b":1}', '/a"b'],
  ['{"a/~":1,"b":{"a/~":1},"a/~":1}', '/a~1~0'],
])('%s has the duplicate key %s', (text, pointer) => {
  expect(findFault(text)).toEqual({ code: 'duplicate_key', detail: 'must be given once', pointer });
});

test.each(['1', '"a"', '[]', '{}', '[1,[2,{"a":[]}],"a"]', '{"a":{"a":{"a":"a"}},"b":["a","a"],"A":{"b":"a"}}'])(
  '%s has no duplicate key',
  (text) => {
    expect(findFault(text)).toBeUndefined();
  },
);
