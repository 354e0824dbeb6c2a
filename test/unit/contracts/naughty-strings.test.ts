import { progressRequestSchema } from '../../../src/contracts/request-schemas';
import { accept, errorsOfData, productionSchema } from '../../support/create-order-body';
import { NAUGHTY, plainReferences, plainTexts } from '../../support/naughty-strings';

/** The strings that a create request accepts in a field, or undefined for the others. */
const acceptedAs = (field: (text: string) => Record<string, unknown>): string[] =>
  NAUGHTY.filter((text) => errorsOfData(field(text)).length === 0);

test('the references that are accepted are the printable texts without invisible characters, normalized', () => {
  const accepted = acceptedAs((reference) => ({ reference }));
  expect(accepted.length).toBeGreaterThan(300);
  expect(accepted.map((reference) => accept({ reference }).reference).sort()).toEqual(plainReferences().sort());
});

test('the sources that are accepted are the printable texts of up to 100 characters, unchanged', () => {
  const accepted = acceptedAs((source) => ({ source }));
  expect(accepted.sort()).toEqual(plainTexts(100).sort());
  for (const source of accepted) expect(accept({ source }).source).toBe(source);
});

test('meta_data accepts every text as a key and as a value, except NUL, lone surrogates and the key __proto__', () => {
  const fields = (text: string) => ({ meta_data: { [text]: { nested: [text] } } });
  const accepted = acceptedAs(fields);
  expect(accepted).toEqual(NAUGHTY.filter((text) => text !== '__proto__' && !/\0|\p{Surrogate}/u.test(text)));
  for (const text of accepted) expect(accept(fields(text)).meta_data).toEqual(fields(text).meta_data);
});

test('a URL that is accepted in production is https, and keeps its parts', () => {
  let accepted = 0;
  for (const text of NAUGHTY) {
    for (const url of [text, `https://shop.example/${text}?a=${text}#${text}`]) {
      const body = { data: { amount: 1, reference: 'a', redirect_url: url, webhook_url: url } };
      const { success, data } = productionSchema.safeParse(body);
      if (!success) continue;
      accepted += 1;
      const { protocol, host, pathname } = new URL(data.data.redirect_url!);
      expect([protocol, host, pathname]).toEqual(['https:', new URL(url).host, new URL(url).pathname]);
    }
  }
  expect(accepted).toBeGreaterThan(100);
});

test('an amount or a progress event is never accepted, and a reason is if it is printable', () => {
  expect(acceptedAs((amount) => ({ amount }))).toEqual([]);
  const parses = (data: unknown) => progressRequestSchema.safeParse({ data }).success;
  expect(NAUGHTY.filter((event) => parses({ event }))).toEqual([]);
  expect(NAUGHTY.filter((reason) => parses({ event: 'failed', reason })).sort()).toEqual(plainTexts(500).sort());
});
