import list from 'big-list-of-naughty-strings';

/** Not in the list: strings that Unicode, JSON, Postgres or HTTP treat specially. */
const MORE = [
  'a\u0000b',
  '\ud800',
  'a\udc00b',
  '\udbff\udfff',
  '\ufdd0',
  '\uffff',
  '\u{10ffff}',
  '\ufeff',
  '\u0085',
  '\u2028\u2029',
  '\u001b[31mred\u001b[0m',
  'a\r\nX-Injected: yes',
  '%00',
  '%ff%fe',
  '%',
  '__proto__',
  'constructor',
  'a\u0301',
  '👩‍👩‍👧‍👦',
  '🎉'.repeat(255),
  '\u0301'.repeat(255),
  '\\u0000',
  '\\x00',
  "'; drop table orders; --",
  '$1',
  '${process.env.DATABASE_URL}',
  '{{7*7}}',
];

/** Strings that break software: https://github.com/minimaxir/big-list-of-naughty-strings and MORE. */
export const NAUGHTY: readonly string[] = [...new Set([...list, ...MORE])];

/** The strings that are valid as a source or reason: printable, trimmed, 1 to `max` characters. */
export function plainTexts(max: number): string[] {
  const unprintable = /[^\P{C}\u200c\u200d]|[\p{Zl}\p{Zp}]/u;
  return NAUGHTY.filter(
    (text) => text !== '' && text === text.trim() && Array.from(text).length <= max && !unprintable.test(text),
  );
}

/** The strings that are valid as a reference, normalized: without invisible characters, special spaces and runs of spaces. */
export function plainReferences(): string[] {
  const invisible = /\p{Default_Ignorable_Code_Point}|\u2800|[^\P{Zs} ]| {2}/u;
  return plainTexts(255)
    .filter((text) => !invisible.test(text))
    .map((text) => text.normalize('NFC'));
}
