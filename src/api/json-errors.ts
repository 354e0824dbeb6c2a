import { type JSONPath, printParseErrorCode, visit } from 'jsonc-parser';
import { escapeControls } from '../domain/text';

/** The longest part of the body before the error that a response repeats, in characters. */
const SHOWN = 10;
/** The parser recurses. No valid body is as deep. */
export const MAX_DEPTH = 100;
const TOO_DEEP = new Error('nested too deeply');

interface Findings {
  error?: { message: string; index: number };
  /** The path of the first key that an object has twice. */
  duplicate?: JSONPath;
  /** True if it is nested more than `MAX_DEPTH` levels deep: what follows is not read. */
  isTooDeep?: boolean;
}

const COLON = /[ \t\r\n]*:/y;

/**
 * Returns whether valid JSON has neither a repeated key nor more than `MAX_DEPTH` levels. `inspectJson` also tells where,
 * and takes ten times as long.
 */
export function isPlainJson(text: string): boolean {
  /** The keys of each open object and array. Most have none, and to make a set takes time. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '{' || character === '[') {
      if (open.push(undefined) > MAX_DEPTH) return false;
    } else if (character === '}' || character === ']') open.pop();
    else if (character === '"') {
      const start = at;
      for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
      COLON.lastIndex = at + 1;
      if (!COLON.test(text)) continue;
      const key = text.slice(start, at + 1);
      const keys = (open[open.length - 1] ??= new Set());
      if (keys.size === keys.add(key.includes('\\') ? JSON.stringify(JSON.parse(key)) : key).size) return false;
    }
  }
  return true;
}

/**
 * Finds what JSON.parse hides: repeated keys, and the place of the first error, which only some of its messages name.
 */
export function inspectJson(text: string): Findings {
  const findings: Findings = {};
  const open: Set<string>[] = [];
  const enter = (): void => {
    if (open.push(new Set()) > MAX_DEPTH) throw TOO_DEEP;
  };
  const leave = (): void => void open.pop();
  try {
    visit(
      text,
      {
        onObjectBegin: enter,
        onObjectEnd: leave,
        onArrayBegin: enter,
        onArrayEnd: leave,
        onObjectProperty(key, _index, _length, _line, _column, parentPath) {
          const keys = open.at(-1);
          if (keys?.has(key)) findings.duplicate ??= [...parentPath(), key];
          keys?.add(key);
        },
        onError(code, index) {
          findings.error ??= {
            message: printParseErrorCode(code)
              .replace(/\B[A-Z]/g, ' $&')
              .toLowerCase(),
            index,
          };
        },
      },
      { disallowComments: true },
    );
  } catch (error) {
    if (error !== TOO_DEEP) throw error;
    findings.isTooDeep = true;
  }
  return findings;
}

/** Describes a place in a text: line and column, counted from 1, and the few characters around it. */
export function describePlace(text: string, index: number): string {
  const before = text.slice(0, index);
  const place = `line ${before.split('\n').length}, column ${index - before.lastIndexOf('\n')}`;
  const shown = Array.from(before.slice(-100).trim()).slice(-SHOWN).join('');
  return `${place}${shown && `, after \`${escapeControls(shown)}\``}`;
}

export function describeSyntaxError(text: string): string {
  const { error } = inspectJson(text);
  return error ? `${error.message} at ${describePlace(text, error.index)}` : TOO_DEEP.message;
}
