import { findDuplicateKey } from '../../../src/api/json-errors';

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
  expect(`/${findDuplicateKey(text)?.join('/')}`).toBe(pointer);
});

test.each(['1', '"a"', '[]', '{}', '[1,[2,{"a":[]}],"a"]', '{"a":{"a":{"a":"a"}},"b":["a","a"],"A":{"b":"a"}}'])(
  '%s has no duplicate key',
  (text) => {
    expect(findDuplicateKey(text)).toBeUndefined();
  },
);

test('deeply nested and wide JSON is inspected without recursion', () => {
  const deep = `{"data":{"meta_data":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
  expect(findDuplicateKey(deep)).toBeUndefined();
});

test('a string with millions of escapes is inspected without recursion', () => {
  const text = `{"a":"${String.raw`\n\"`.repeat(4_000_000)}","b":1,"a":2}`;
  expect(findDuplicateKey(text)).toEqual(['a']);
});
