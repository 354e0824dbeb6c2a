import { type JSONVisitor, printParseErrorCode, visit } from 'jsonc-parser';
import { toPointer } from '../contracts/field-errors';
import { MAX_BODY_PARTS } from '../contracts/fields';
import type { FieldError } from '../contracts/problem';
import { escapeControls } from '../domain/text';

/** The longest part of the body before the error that a response repeats, in characters. */
const SHOWN = 10;
/** Parsers recurse. No valid body is as deep. */
const MAX_DEPTH = 100;
const FOUND = new Error('found');

/**
 * Finds why JSON is refused that `JSON.parse` can read: too many parts or levels, which take long to parse, or a key that
 * an object has twice, on which parsers disagree.
 * @throws SyntaxError for some texts that are not JSON
 */
export function findFault(text: string): FieldError | undefined {
  /** Of each open object and list: its last key or index, and the keys of an object. */
  const open: { at: string | number; keys?: Set<string> }[] = [];
  let parts = 0;
  let start = 0;
  let end = 0;
  let duplicate: FieldError | undefined;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    const parent = open.at(-1);
    if (character === '"') {
      start = index;
      for (index++; index < text.length && text[index] !== '"'; index++) if (text[index] === '\\') index++;
      end = index + 1;
    } else if (character === '{' || character === '[') {
      if (character === '[') parts++;
      if (open.push({ at: 0 }) > MAX_DEPTH)
        return { code: 'too_deep', detail: `must not be nested more than ${MAX_DEPTH} levels deep`, pointer: '' };
    } else if (character === '}' || character === ']') open.pop();
    else if (character === ',' && typeof parent?.at === 'number') {
      parts++;
      parent.at++;
    } else if (character === ':' && parent) {
      parts++;
      const key = text.slice(start, end);
      end = start;
      parent.at = key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
      parent.keys ??= new Set();
      if (parent.keys.size === parent.keys.add(parent.at).size)
        duplicate ??= {
          code: 'duplicate_key',
          detail: 'must be given once',
          pointer: toPointer(open.map(({ at }) => at)),
        };
    }
    if (parts > MAX_BODY_PARTS)
      return { code: 'too_big', detail: `must have at most ${MAX_BODY_PARTS} fields and list items`, pointer: '' };
  }
  return duplicate;
}

/** Finds the place of the first error, which only some messages of `JSON.parse` name. @param text not too deep */
export function findSyntaxError(text: string): { message: string; index: number } | undefined {
  let found: { message: string; index: number } | undefined;
  const onError: JSONVisitor['onError'] = (code, index) => {
    const message = printParseErrorCode(code).replace(/\B[A-Z]/g, ' $&');
    found = { message: message.toLowerCase(), index };
    throw FOUND;
  };
  try {
    visit(text, { onError }, { disallowComments: true });
  } catch (error) {
    if (error !== FOUND) throw error;
  }
  return found;
}

/** Describes a place in a text: line and column, counted from 1, and the few characters around it. */
export function describePlace(text: string, index: number): string {
  const before = text.slice(0, index);
  let line = 1;
  for (let at = 0; at < index; at++) if (text[at] === '\n') line++;
  const place = `line ${line}, column ${index - before.lastIndexOf('\n')}`;
  const shown = Array.from(before.slice(-100).trim()).slice(-SHOWN).join('');
  return `${place}${shown && `, after \`${escapeControls(shown)}\``}`;
}

export function describeSyntaxError(text: string): string {
  const error = findSyntaxError(text);
  return error ? `${error.message} at ${describePlace(text, error.index)}` : 'syntax error';
}
