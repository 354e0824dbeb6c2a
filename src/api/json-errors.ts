import { escapeControls } from '../domain/text';

/** The longest part of the body before the error that a response repeats, in characters. */
const SHOWN = 10;

const WHITE_SPACE = /[ \t\n\r]*/y;
/** A literal or a number. A number ends before its first invalid character. */
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

interface Container {
  /** The latest key of an object, or the latest index of an array. */
  key: PropertyKey;
  /** Undefined for an array. */
  keys: Set<string> | undefined;
}

/**
 * Reads a text as JSON, up to its first error. JSON.parse hides repeated keys, and reports the place of an error only in
 * some messages, which differ between versions of Node. Linear, and without recursion, so that no body is expensive.
 * @returns `end`: the index of the first character that cannot belong to JSON, or where a word, a number or an escape
 * begins that is none; the length of the text if it is valid or ends too early. `duplicate`: the path of the first key
 * that an object has twice
 */
export function scanJson(text: string): { end: number; duplicate: readonly PropertyKey[] | undefined } {
  const open: Container[] = [];
  let duplicate: readonly PropertyKey[] | undefined;
  let expected: 'value' | 'key' | 'colon' | 'comma' = 'value';
  /** True after an opening bracket, which can be closed at once. */
  let isEmpty = false;
  let index = 0;
  while ((index = endOf(WHITE_SPACE, text, index)) < text.length) {
    const char = text[index];
    const container = open.at(-1);
    if (container && char === (container.keys ? '}' : ']') && (isEmpty || expected === 'comma')) {
      open.pop();
      expected = 'comma';
      index++;
    } else if (expected === 'colon') {
      if (char !== ':') break;
      expected = 'value';
      index++;
    } else if (expected === 'comma') {
      if (!container || char !== ',') break;
      if (!container.keys) container.key = Number(container.key) + 1;
      expected = container.keys ? 'key' : 'value';
      index++;
    } else if (char === '"') {
      const start = index;
      index = closingQuote(text, start + 1);
      if (text[index] !== '"') break;
      index++;
      if (expected === 'key' && container?.keys) {
        const key = JSON.parse(text.slice(start, index)) as string;
        container.key = key;
        if (container.keys.has(key)) duplicate ??= open.map((one) => one.key);
        container.keys.add(key);
        expected = 'colon';
      } else expected = 'comma';
    } else if (expected === 'value' && (char === '{' || char === '[')) {
      open.push(char === '{' ? { key: '', keys: new Set() } : { key: 0, keys: undefined });
      expected = char === '{' ? 'key' : 'value';
      isEmpty = true;
      index++;
      continue;
    } else {
      const end = expected === 'value' ? endOf(SCALAR, text, index) : index;
      if (end === index) break;
      expected = 'comma';
      index = end;
    }
    isEmpty = false;
  }
  return { end: index, duplicate };
}

function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}

/** The index of the closing quotation mark, or of the first character that a string cannot have. */
function closingQuote(text: string, start: number): number {
  let index = start;
  for (;;) {
    const char = text[index];
    if (char === undefined || char === '"' || char < ' ') return index;
    const end = char === '\\' ? endOf(ESCAPE, text, index) : index + 1;
    if (end === index) return index;
    index = end;
  }
}

/** Describes a place in a text: line and column, counted from 1, and the few characters around it. */
export function describePlace(text: string, index: number): string {
  const before = text.slice(0, index);
  const place = `line ${before.split('\n').length}, column ${index - before.lastIndexOf('\n')}`;
  const shown = Array.from(before.slice(-100).trim()).slice(-SHOWN).join('');
  return `${place}${shown && `, after \`${escapeControls(shown)}\``}`;
}

export function describeSyntaxError(text: string): string {
  const { end: index } = scanJson(text);
  const [found] = text.slice(index, index + 2);
  const what = found === undefined ? 'it ends too early' : `\`${escapeControls(found)}\` is unexpected`;
  return `${what} at ${describePlace(text, index)}`;
}
