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
