import { z } from 'zod';
import { refuse } from './fields';
import type { FieldErrorCode } from './problem-schema';
import { sourceOf } from './verbatim-json';

const MAX_META_DATA_BYTES = 16 * 1024;
const MAX_META_DATA_DEPTH = 32;

/** Any object, or PHP's empty map `[]`. A zod record would silently drop the key `__proto__`. */
const anyObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && (!Array.isArray(value) || value.length === 0),
    { message: 'must be an object', params: { code: 'invalid_type' satisfies FieldErrorCode }, abort: true },
  )
  .meta({ override: { type: 'object', additionalProperties: {} } });

/** Custom data of a shop: any JSON object. Its text is kept, because parsing loses key order and digits of numbers. */
export const metaData = anyObject.transform((value, context): string => {
  // The depth is checked first, because everything else recurses.
  if (deeperThan(value, MAX_META_DATA_DEPTH)) {
    return refuse(context, 'too_deep', `must not be nested more than ${MAX_META_DATA_DEPTH} levels deep`);
  }
  const source = Array.isArray(value) ? '{}' : sourceOf(value);
  if (Buffer.byteLength(source) > MAX_META_DATA_BYTES) return refuse(context, 'too_big', 'must be at most 16 KiB');
  if (hasKey(value, '__proto__')) refuse(context, 'forbidden_key', 'must not contain the key __proto__');
  if (stringsOf(value).some((text) => /\0|\p{Surrogate}/u.test(text))) {
    // Postgres stores the escapes, but many parsers, its own included, cannot read them.
    refuse(context, 'invalid_characters', 'must not contain NUL characters or lone surrogates');
  }
  return source;
});

function deeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((child) => deeperThan(child, depth - 1));
}

/** All keys and strings within a value. */
function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...stringsOf(child)]);
}

function hasKey(value: unknown, key: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, key) || Object.values(value).some((child) => hasKey(child, key));
}
