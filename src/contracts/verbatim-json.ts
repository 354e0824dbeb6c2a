import { randomUUID } from 'node:crypto';

/** Marks a string that `stringify` writes as JSON text. Random, so that no caller can send it. */
const MARK = `json:${randomUUID()}:`;
const MARKED = new RegExp(String.raw`"${MARK}([^"\\]*(?:\\.[^"\\]*)*)"`, 'g');

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
  return { toJSON: () => MARK + text };
}

/** JSON.stringify that writes `verbatim` objects as they are. */
export function stringify(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(MARKED, (_, text: string) => JSON.parse(`"${text}"`) as string);
}
