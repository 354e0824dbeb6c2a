import { z } from 'zod';
import { refuse } from './fields';
import type { FieldErrorCode } from './problem-schema';

const MAX_META_DATA_BYTES = 16 * 1024;
const MAX_META_DATA_DEPTH = 32;

/** Any object, unchanged. A zod record would silently drop the key `__proto__`. */
const anyObject = z
  .custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    message: 'must be an object',
    params: { code: 'invalid_type' satisfies FieldErrorCode },
    abort: true,
  })
  .meta({ override: { type: 'object', additionalProperties: {} } });

/** Custom data of a shop: any JSON object that can be stored and returned unchanged. */
export const metaData = anyObject.superRefine((value, context) => {
  // The depth is checked first, because the other checks recurse.
  if (deeperThan(value, MAX_META_DATA_DEPTH)) {
    refuse(context, 'too_deep', `must not be nested more than ${MAX_META_DATA_DEPTH} levels deep`);
  } else if (Buffer.byteLength(JSON.stringify(value)) > MAX_META_DATA_BYTES) {
    refuse(context, 'too_big', 'must be at most 16 KiB as JSON');
  } else {
    const parts = partsOf(value);
    if (hasKey(value, '__proto__')) refuse(context, 'forbidden_key', 'must not contain the key __proto__');
    if (parts.some(isUnstorable)) {
      refuse(context, 'invalid_characters', 'must not contain NUL characters or lone surrogates');
    }
    if (parts.some(isInexact)) {
      const detail =
        'must not contain numbers that lose precision, such as 1e400 or 9007199254740993; send them as strings';
      refuse(context, 'inexact_number', detail);
    }
  }
});

function deeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((child) => deeperThan(child, depth - 1));
}

/** All keys and scalar values within a value. */
function partsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.entries(value).flatMap(([key, child]) => [key, ...partsOf(child)]);
}

function hasKey(value: unknown, key: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, key) || Object.values(value).some((child) => hasKey(child, key));
}

/** Postgres can store neither NUL nor lone surrogates. */
function isUnstorable(part: unknown): boolean {
  return typeof part === 'string' && /\0|\p{Surrogate}/u.test(part);
}

/**
 * True for numbers that a double cannot hold: infinities, and integers whose last digits would change. From 1e21 on,
 * JSON writes integers with an exponent, so readers expect an approximation (RFC 8259, section 6).
 */
function isInexact(part: unknown): boolean {
  if (typeof part !== 'number') return false;
  return !Number.isFinite(part) || (Math.abs(part) > Number.MAX_SAFE_INTEGER && Math.abs(part) < 1e21);
}
