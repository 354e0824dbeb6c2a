import { z } from 'zod';
import { refuse } from './fields';
import type { FieldErrorCode } from './problem-schema';

const MAX_META_DATA_BYTES = 16 * 1024;
const MAX_META_DATA_DEPTH = 32;

/** Any object as it was sent: a zod record would leave out a key `__proto__` without a word. */
const anyObject = z
  .custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    message: 'must be an object',
    params: { code: 'invalid_type' satisfies FieldErrorCode },
    abort: true,
  })
  .meta({ override: { type: 'object', additionalProperties: {} } });

/** What a shop gets back with its order: any JSON that comes back as it went. */
export const metaData = anyObject.superRefine((value, context) => {
  // The depth first: what comes after it recurses.
  if (deeperThan(value, MAX_META_DATA_DEPTH)) {
    refuse(context, 'too_deep', `must be nested at most ${MAX_META_DATA_DEPTH} deep`);
  } else if (Buffer.byteLength(JSON.stringify(value)) > MAX_META_DATA_BYTES) {
    refuse(context, 'too_big', 'must be at most 16 KiB as JSON');
  } else {
    const parts = partsOf(value);
    if (holdsKey(value, '__proto__')) refuse(context, 'forbidden_key', 'must not hold the key __proto__');
    if (parts.some(isUnstorable)) refuse(context, 'invalid_characters', 'must not hold NUL or lone surrogates');
    if (parts.some(isInexact)) {
      refuse(context, 'inexact_number', 'must not hold numbers like 9007199254740993 or 1e400: send them as text');
    }
  }
});

function deeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((child) => deeperThan(child, depth - 1));
}

/** All keys and values within a value, or itself. */
function partsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.entries(value).flatMap(([key, child]) => [key, ...partsOf(child)]);
}

function holdsKey(value: unknown, key: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, key) || Object.values(value).some((child) => holdsKey(child, key));
}

/** Postgres keeps neither NUL nor lone surrogates. */
function isUnstorable(part: unknown): boolean {
  return typeof part === 'string' && /\0|\p{Surrogate}/u.test(part);
}

/**
 * What a double cannot hold: an infinity, and whole numbers of which the last digits would come back wrong. From 1e21 on
 * they are written with an exponent, as the approximations that they are (RFC 8259, section 6).
 */
function isInexact(part: unknown): boolean {
  if (typeof part !== 'number') return false;
  return !Number.isFinite(part) || (Math.abs(part) > Number.MAX_SAFE_INTEGER && Math.abs(part) < 1e21);
}
