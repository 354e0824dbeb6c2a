import { z } from 'zod';
import { reference } from '../../../src/contracts/fields';
import { orderListQuerySchema } from '../../../src/contracts/request-schemas';
import { accept, errorsOfData } from '../../support/create-order-body';

describe('the reference', () => {
  test.each(['注文番号１７', 'می خواهم', '❤ 1⃣ 🇬🇧 👍🏽', '__proto__', 'x'.repeat(255), '🎉'.repeat(255)])(
    '%j is accepted',
    (reference) => {
      expect(accept({ reference }).reference).toBe(reference);
    },
  );

  test.each([
    ['', 'too_small'],
    ['x'.repeat(256), 'too_big'],
    ['🎉'.repeat(256), 'too_big'],
    [' a', 'surrounding_blanks'],
    ['a ', 'surrounding_blanks'],
    [' ', 'surrounding_blanks'],
    ['a\u0000b', 'invalid_characters'],
    ['a\nb', 'invalid_characters'],
    ['a\u202eb', 'invalid_characters'],
    ['a\u200bb', 'invalid_characters'],
    ['\u2800', 'invalid_characters'],
    ['a\u200cb', 'invalid_characters'],
    ['web  1', 'invalid_characters'],
    ['a\u00a0b', 'invalid_characters'],
    ['a\u{e0061}b', 'invalid_characters'],
    ['a\ud800b', 'invalid_characters'],
    [1, 'invalid_type'],
    [null, 'required'],
    [undefined, 'required'],
  ])('%j is refused with %s', (reference, code) => {
    expect(errorsOfData({ reference })).toEqual([`/data/reference ${code}`]);
  });

  test('the documented pattern refuses surrounding blanks, two spaces in a row and control characters', () => {
    const { properties } = z.toJSONSchema(z.object({ reference }), { io: 'input' });
    const { pattern } = properties!.reference as { pattern: string };
    const isAllowed = (value: string) => new RegExp(pattern).test(value);
    expect(['a', 'order 17', 'Ωmega-Bücher-é', '🎉 b c'].filter(isAllowed)).toHaveLength(4);
    expect(['', ' ', ' a', 'a ', 'web  1', 'a\tb', 'a\n', 'a\u0000b', 'a\u007f'].filter(isAllowed)).toEqual([]);
  });

  test('references that differ only in their Unicode normalization are the same, in lists too', () => {
    expect(accept({ reference: 'cafe\u0301' }).reference).toBe('caf\u00e9');
    expect(orderListQuerySchema.parse({ reference: 'cafe\u0301' }).reference).toBe('caf\u00e9');
    expect(accept({ reference: 'e\u0301'.repeat(255) }).reference).toHaveLength(255);
    expect(errorsOfData({ reference: '\u0958'.repeat(128) })).toEqual(['/data/reference too_big']);
  });

  test('a long reference that is expensive to normalize is refused without that', () => {
    const normalize = jest.spyOn(String.prototype, 'normalize');
    for (const unit of ['\u0301\u0316', '\ud83d\udc69\u200d']) {
      const reference = `a${unit.repeat(200_000 / unit.length)}`;
      expect(errorsOfData({ reference })).toEqual(['/data/reference too_big']);
    }
    const lengths = normalize.mock.contexts.map((text) => String(text).length);
    normalize.mockRestore();
    expect(lengths.filter((length) => length > 10_000)).toEqual([]);
  });

  test('a reference with several errors is refused with all of them', () => {
    expect(errorsOfData({ reference: ` \u0000${'x'.repeat(255)}` })).toEqual([
      '/data/reference too_big',
      '/data/reference invalid_characters',
      '/data/reference surrounding_blanks',
    ]);
  });
});

describe('the source', () => {
  test('can contain a zero-width non-joiner, and is not normalized', () => {
    expect(accept({ source: 'می\u200cخواهم cafe\u0301' }).source).toBe('می\u200cخواهم cafe\u0301');
  });

  test('100 characters are accepted and 101 are refused', () => {
    expect(accept({ source: 'x'.repeat(100) }).source).toHaveLength(100);
    expect(errorsOfData({ source: 'x'.repeat(101) })).toEqual(['/data/source too_big']);
  });

  test.each([
    ['', 'too_small'],
    [' a', 'surrounding_blanks'],
    ['a\u0000', 'invalid_characters'],
    [1, 'invalid_type'],
  ])('%j is refused with %s', (source, code) => {
    expect(errorsOfData({ source })).toEqual([`/data/source ${code}`]);
  });
});
