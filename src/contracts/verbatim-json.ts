import { randomUUID } from 'node:crypto';

/** Marks where `stringify` writes one of `texts`. Random, so that no caller can send it. */
const MARK = `json:${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(\\d+)"`, 'g');

/** The texts of the `verbatim` objects in the value that is being written. */
let texts: string[] = [];

const sources = new WeakMap<object, string>();

/** Records the text that an object was parsed from. */
export function recordSource(parsed: object, text: string): void {
  sources.set(parsed, text);
}

/** The text that an object was parsed from, if it was recorded. JSON.parse loses key order and digits of numbers. */
export function sourceOf(parsed: object): string {
  return sources.get(parsed) ?? JSON.stringify(parsed);
}

/** An object for which `stringify`, and only `stringify`, writes exactly this JSON text. */
export function verbatim(text: string): Record<string, unknown> {
  return { toJSON: () => `${MARK}${texts.push(text) - 1}` };
}

/** JSON.stringify that writes `verbatim` objects as they are. */
export function stringify(value: unknown, indent?: number): string {
  texts = [];
  return JSON.stringify(value, null, indent).replace(MARKED, (_, index: string) => texts[Number(index)] ?? '');
}
