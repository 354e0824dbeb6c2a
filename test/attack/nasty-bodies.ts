import { MAX_BODY_PARTS } from '../../src/contracts/fields';

/** Fills a text with as many units as fit into this number of bytes. */
const fill = (bytes: number, unit: string | ((index: number) => string), separator = ','): string => {
  const units: string[] = [];
  for (let size = 0, index = 0; ; index++) {
    const next = typeof unit === 'string' ? unit : unit(index);
    size += Buffer.byteLength(next) + separator.length;
    if (size > bytes) return units.join(separator);
    units.push(next);
  }
};

/** The frame of a create request around `data`'s fields takes fewer bytes than this. */
const FRAME = 200;
/** It has fewer fields and list items than this. */
const FRAME_PARTS = 10;

/** Bodies of a create request that are costly to read, check or refuse, and the plain one of the same size. */
export function nastyBodies(bytes: number): { plain: string; nasty: Record<string, string> } {
  const room = bytes - FRAME;
  const data = (fields: string): string => `{"data":{"amount":1,"reference":"x",${fields}}}`;
  const meta = (value: string): string => data(`"meta_data":${value}`);
  const deep = (levels: number, value: string): string =>
    meta(`{"a":${'['.repeat(levels)}${value}${']'.repeat(levels)}}`);
  const parts = MAX_BODY_PARTS - FRAME_PARTS;
  const digits = Math.floor(room / parts) - '"refrence":1,'.length;
  /** As many fields as a body may have, which fill it. */
  const fields = (name: string, value = '1'): string =>
    Array.from({ length: parts }, (_, index) => `"${name}${String(index).padStart(digits, '0')}":${value}`).join();
  const items = (unit: string): string => Array<string>(parts).fill(unit).join();
  return {
    plain: meta(`{"a":"${'x'.repeat(room)}"}`),
    nasty: {
      'a flat list of [0]': deep(1, fill(room, '[0]')),
      'the same 29 deep': deep(29, fill(room, '[0]')),
      'a list of empty objects': deep(1, fill(room, '{}')),
      'a list of digits': deep(1, fill(room, '0')),
      'objects in objects, 31 deep': deep(1, fill(room, `${'{"":'.repeat(29)}0${'}'.repeat(29)}`)),
      'brackets as deep as fit': deep(room / 2, ''),
      'brackets that are not closed': `{"data":${'['.repeat(room)}`,
      'many short keys': meta(`{${fill(room, (index) => `"${index.toString(36)}":0`)}}`),
      'keys that are numbers': meta(`{${fill(room, (index) => `"${(index * 7919) % 100_003}":0`)}}`),
      'many unknown fields': data(fill(room, (index) => `"x${index}":1`)),
      'unknown fields with names that are nearly right': data(fill(room, (index) => `"refrence_${index}":1`)),
      'one long unknown field': data(`"${'reference'.repeat(room / 9)}":1`),
      'a repeated key': meta(`{${fill(room, '"a":0')}}`),
      'numbers with many digits': deep(1, fill(room, `0.${'123456789'.repeat(100)}`)),
      'numbers with exponents': deep(1, fill(room, '1e300')),
      escapes: meta(`{"a":"${fill(room, String.raw`\u0041`, '')}"}`),
      'lone surrogates': deep(1, fill(room, String.raw`"\ud800"`)),
      'many errors': data(`"allowed_payment_terms":[${fill(room, '1')}]`),
      'a text of combining marks': data(`"webhook_url":"${'a'.repeat(9)}","source":"${fill(room, '\u0301', '')}"`),
      'a long URL': data(`"redirect_url":"http://${fill(room, 'é.', '')}"`),
      'the most fields': meta(`{${fields('field')}}`),
      'the most fields, one twice': meta(`{${fields('field')},"field${'0'.repeat(digits)}":1}`),
      'the most fields, and an error at the end': `{"data":{${fields('field')}}`,
      'the most fields, with escapes': meta(`{${fields(String.raw`\n`)}}`),
      'the most unknown fields': data(fields('field')),
      'the most unknown fields with names that are nearly right': data(fields('refrence')),
      'the most lone surrogates': deep(1, items(`"${String.raw`\ud800`.repeat(4)}"`)),
      'the most numbers': deep(1, items(`0.${'123456789'.repeat(3)}`)),
      'the most lists, 29 deep': deep(1, fill(59 * (parts / 31), `${'['.repeat(29)}${']'.repeat(29)}`)),
      'a long key and colons': `{"${String.raw`\n`.repeat(room / 4)}"${':'.repeat(room / 2)}`,
      'lines, and an error at the end': `{${fill(room, '\n', '')}"data":[1,}`,
      'an error in each token': `{"data":[${fill(room, '/*', '')}`,
    },
  };
}
