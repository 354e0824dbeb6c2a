import * as fc from 'fast-check';
import { describeSyntaxError, inspectJson, isPlainJson } from '../../../src/api/json-errors';
import { jsonTestSuite } from '../../support/json-test-suite';

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
      expect(inspectJson(text)).toEqual({});
      const part = text.slice(0, cut % text.length);
      expect([part, inspectJson(part).error === undefined]).toEqual([part, isJson(part)]);
    }),
  );
});

test('the cases of JSONTestSuite have an error where JSON.parse refuses them, and a duplicate key where the name says so', () => {
  let seen = 0;
  for (const { name, bytes } of jsonTestSuite()) {
    const text = bytes.toString();
    // Some are deeper than what is inspected.
    if (text.length > 1000) continue;
    const { error, duplicate } = inspectJson(text);
    expect([name, error === undefined]).toEqual([name, isJson(text)]);
    if (name.startsWith('y_')) expect([name, duplicate !== undefined]).toEqual([name, name.includes('duplicated_key')]);
    seen++;
  }
  expect(seen).toBeGreaterThan(300);
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
  ['{"a" §1}', 'colon expected at line 1, column 6, after `{"a"`'],
  ['[1,§]', 'value expected at line 1, column 4, after `[1,`'],
  ['{} §// comment', 'invalid comment token at line 1, column 4, after `{}`'],
  ['{"a": §NaN}', 'invalid symbol at line 1, column 7, after `{"a":`'],
  ['{"a": 0§1}', 'comma expected at line 1, column 8, after `{"a": 0`'],
  ['{"a": §"b\n"}', 'unexpected end of string at line 1, column 7, after `{"a":`'],
  ['{"a": §"\\x41"}', 'invalid escape character at line 1, column 7, after `{"a":`'],
  ['§\u00a0{}', 'invalid symbol at line 1, column 1'],
])('the description of an error has its line, its column and a few characters: %j', (marked, description) => {
  const text = marked.replace('§', '');
  expect(isJson(text)).toBe(false);
  expect([inspectJson(text).error?.index, describeSyntaxError(text)]).toEqual([marked.indexOf('§'), description]);
});

test('neither a deep body nor one with millions of escapes overflows the stack', () => {
  const megabyte = 1_048_576;
  expect(describeSyntaxError('['.repeat(megabyte))).toBe('nested too deeply');
  expect(describeSyntaxError('{"a":'.repeat(megabyte / 5))).toBe('nested too deeply');
  expect(inspectJson(`{"data":{"meta_data":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`)).toEqual({
    isTooDeep: true,
  });
  expect(isPlainJson(`${'['.repeat(101)}${']'.repeat(101)}`)).toBe(false);
  expect(isPlainJson(`${'['.repeat(100)}${']'.repeat(100)}`)).toBe(true);
  const escapes = `{"a":"${String.raw`\n\"`.repeat(4_000_000)}","b":1,"a":2}`;
  expect(inspectJson(escapes)).toEqual({ duplicate: ['a'] });
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
  expect(`/${inspectJson(text).duplicate?.join('/')}`).toBe(pointer);
  expect(isPlainJson(text)).toBe(false);
});

test.each(['1', '"a"', '[]', '{}', '[1,[2,{"a":[]}],"a"]', '{"a":{"a":{"a":"a"}},"b":["a","a"],"A":{"b":"a"}}'])(
  '%s has no duplicate key',
  (text) => {
    expect(inspectJson(text).duplicate).toBeUndefined();
    expect(isPlainJson(text)).toBe(true);
  },
);
