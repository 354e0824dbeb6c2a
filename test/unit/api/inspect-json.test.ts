import { inspectJson } from '../../../src/api/inspect-json';

const PATH = ['data', 'meta_data'];

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
  expect(`/${inspectJson(text, PATH).duplicate?.join('/')}`).toBe(pointer);
});

test.each(['1', '"a"', '[]', '{}', '[1,[2,{"a":[]}],"a"]', '{"a":{"a":{"a":"a"}},"b":["a","a"],"A":{"b":"a"}}'])(
  '%s has no duplicate key',
  (text) => {
    expect(inspectJson(text, PATH).duplicate).toBeUndefined();
  },
);

test.each([
  ['{"data":{"meta_data":{ "10":1.10, "9":["]}", {}] } , "b":{}}}', '{ "10":1.10, "9":["]}", {}] }'],
  ['{"data":{"meta\\u005fdata":[ ]}}', '[ ]'],
  ['{"data":{"meta_data":{"meta_data":{"data":{}}}}}', '{"meta_data":{"data":{}}}'],
  ['{"data":{"meta_data":"{}"}}', undefined],
  ['{"data":[{"meta_data":{}}],"meta_data":{}}', undefined],
])('the source of meta_data in %s is %s', (text, source) => {
  expect(inspectJson(text, PATH).source).toBe(source);
});

test('deeply nested and wide JSON is inspected without recursion', () => {
  const deep = `{"data":{"meta_data":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
  expect(inspectJson(deep, PATH)).toEqual({ duplicate: undefined, source: deep.slice(21, -2) });
});

test('a string with millions of escapes is inspected without recursion', () => {
  const text = `{"a":"${String.raw`\n\"`.repeat(4_000_000)}","b":1,"a":2}`;
  expect(inspectJson(text, PATH).duplicate).toEqual(['a']);
});
