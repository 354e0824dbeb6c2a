import { escapeControls } from '../domain/escape-controls';

/** The longest part of the body before the error that a response repeats, in characters. */
const SHOWN = 10;

const WHITE_SPACE = /[ \t\n\r]*/y;
/** A literal or a number. A number ends before its first invalid character. */
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/**
 * Returns the index of the first character that cannot belong to JSON, or where a word, a number or an escape begins that
 * is none; the length of the text if it ends too early.
 * JSON.parse reports the place only in some messages, which differ between versions of Node. Linear, and without
 * recursion, so that no body is expensive.
 * @param text not valid JSON
 */
export function findSyntaxError(text: string): number {
  const open: ('{' | '[')[] = [];
  let expected: 'value' | 'key' | 'colon' | 'comma' = 'value';
  /** True after an opening bracket, which can be closed at once. */
  let isEmpty = false;
  let index = 0;
  while ((index = endOf(WHITE_SPACE, text, index)) < text.length) {
    const char = text[index];
    const container = open.at(-1);
    if ((isEmpty || expected === 'comma') && container && char === (container === '{' ? '}' : ']')) {
      open.pop();
      expected = 'comma';
      index++;
    } else if (expected === 'comma' || expected === 'colon') {
      if (expected === 'comma' ? !container || char !== ',' : char !== ':') return index;
      expected = expected === 'comma' && container === '{' ? 'key' : 'value';
      index++;
    } else if (char === '"') {
      index = closingQuote(text, index + 1);
      if (text[index] !== '"') return index;
      expected = expected === 'key' ? 'colon' : 'comma';
      index++;
    } else if (expected === 'value' && (char === '{' || char === '[')) {
      open.push(char);
      expected = char === '{' ? 'key' : 'value';
      isEmpty = true;
      index++;
      continue;
    } else {
      const end = expected === 'value' ? endOf(SCALAR, text, index) : index;
      if (end === index) return index;
      expected = 'comma';
      index = end;
    }
    isEmpty = false;
  }
  return text.length;
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

/** Describes the error of a body that is not JSON, with the place and the few characters around it. */
export function describeSyntaxError(text: string): string {
  const index = findSyntaxError(text);
  const [found] = text.slice(index, index + 2);
  const what = found === undefined ? 'it ends too early' : `\`${escapeControls(found)}\` is unexpected`;
  return `${what} at ${describePlace(text, index)}`;
}

/** The characters that begin strings, and that open, separate and close objects and arrays. */
const TOKEN = /["[\]{},]/g;

interface Container {
  /** The latest key of an object, or the latest index of an array. */
  key: PropertyKey;
  /** Undefined for an array. */
  keys: Set<string> | undefined;
  /** True if the next string is a key. */
  awaitsKey: boolean;
}

/**
 * Finds the path of the first key that an object has twice, which JSON.parse hides. Linear, and without recursion, so that no
 * body is expensive.
 * @param text valid JSON
 */
export function findDuplicateKey(text: string): readonly PropertyKey[] | undefined {
  const open: Container[] = [];
  const pattern = new RegExp(TOKEN);
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const { 0: token, index } = match;
    const current = open.at(-1);
    if (token === '"') pattern.lastIndex = endOfString(text, index);
    if (token === '{') {
      open.push({ key: '', keys: new Set(), awaitsKey: true });
    } else if (token === '[') {
      open.push({ key: 0, keys: undefined, awaitsKey: false });
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token === ',' && current) {
      if (current.keys) current.awaitsKey = true;
      else current.key = Number(current.key) + 1;
    } else if (current?.keys && current.awaitsKey) {
      const key = JSON.parse(text.slice(index, pattern.lastIndex)) as string;
      current.key = key;
      current.awaitsKey = false;
      if (current.keys.has(key)) return open.map((container) => container.key);
      current.keys.add(key);
    }
  }
  return undefined;
}

/** A pattern for the whole string would overflow the stack if the string has millions of escapes. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
}
