import { z } from 'zod';
import { refuse } from './fields';
import type { FieldErrorCode } from './problem-table';

const MAX_META_DATA_BYTES = 16 * 1024;
const MAX_META_DATA_DEPTH = 32;

/** Any object, or PHP's empty map `[]`. A zod record would silently drop the key `__proto__`. */
const anyObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && (!Array.isArray(value) || value.length === 0),
    { message: 'must be an object', params: { code: 'invalid_type' satisfies FieldErrorCode }, abort: true },
  )
  .meta({ override: { type: 'object', additionalProperties: {} } });

/** Custom data of a shop: any JSON object. */
export const metaData = anyObject.transform((value, context): Record<string, unknown> => {
  // The depth is checked first, because everything else recurses.
  if (deeperThan(value, MAX_META_DATA_DEPTH)) {
    return refuse(context, 'too_deep', `must not be nested more than ${MAX_META_DATA_DEPTH} levels deep`);
  }
  if (Array.isArray(value)) return {};
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_META_DATA_BYTES) {
    return refuse(context, 'too_big', 'must be at most 16 KiB');
  }
  const parts = [...partsOf(value)];
  if (parts.some(({ key }) => key === '__proto__'))
    refuse(context, 'forbidden_key', 'must not contain the key __proto__');
  const leaves = parts.flatMap(({ key, value: leaf }) => [key, leaf]);
  // JSON has no infinity: 1e400 would be returned as null.
  if (leaves.includes(Infinity) || leaves.includes(-Infinity)) {
    refuse(context, 'invalid_value', 'must not contain numbers that are too large for a double');
  }
  if (leaves.some((leaf) => typeof leaf === 'string' && /\0|\p{Surrogate}/u.test(leaf))) {
    refuse(context, 'invalid_characters', 'must not contain NUL characters or lone surrogates');
  }
  return value;
});

function deeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((child) => deeperThan(child, depth - 1));
}

/** All keys with their values, at every depth. */
function* partsOf(value: unknown): Generator<{ key: string; value: unknown }> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    yield { key, value: child };
    yield* partsOf(child);
  }
}
