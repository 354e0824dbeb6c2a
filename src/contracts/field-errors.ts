import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { type FieldError, invalidRequest } from './problem';
import { FIELD_ERROR_CODES, type FieldErrorCode } from './problem-table';

/** The maximum number of errors that a response reports: a small request could otherwise cause a large response. */
const MAX_ERRORS = 50;

/** @throws Problem `invalid_request` with an error for every invalid field */
export function validate<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const { data, error } = schema.safeParse(value, { reportInput: true });
  if (error) throw invalidRequest(fieldErrors(error, schema));
  return data;
}

/** Converts a zod error to the `errors` of a problem: one entry for each invalid or unknown field, at most 50. */
export function fieldErrors(error: z.ZodError, schema: z.ZodType): FieldError[] {
  return error.issues
    .slice(0, MAX_ERRORS)
    .flatMap((issue) => {
      if (issue.code !== 'unrecognized_keys') return [{ ...codeAndDetail(issue), pointer: toPointer(issue.path) }];
      const known = knownFields(schema, issue.path);
      return issue.keys.slice(0, MAX_ERRORS).map((key) => unknownField(key, [...issue.path, key], known));
    })
    .slice(0, MAX_ERRORS);
}

type InvalidFieldIssue = Exclude<z.core.$ZodIssue, z.core.$ZodIssueUnrecognizedKeys>;

const CODES: Record<Exclude<InvalidFieldIssue['code'], 'custom' | 'invalid_type' | 'invalid_value'>, FieldErrorCode> = {
  too_small: 'too_small',
  too_big: 'too_big',
  invalid_format: 'invalid_format',
  // The only unions in our schemas are unions of string formats, such as time or date.
  invalid_union: 'invalid_format',
  not_multiple_of: 'invalid_value',
  invalid_key: 'invalid_value',
  invalid_element: 'invalid_value',
};

const TYPES: Record<string, string> = {
  record: 'an object',
  object: 'an object',
  array: 'an array',
  int: 'a whole number',
};

const NO_ENVELOPE = 'is required: wrap the fields in {"data": {…}}';

/** The detail completes a sentence that starts with the field: "must be a number". */
function codeAndDetail(issue: InvalidFieldIssue): Pick<FieldError, 'code' | 'detail'> {
  const { code, message } = issue;
  // The code that a schema passed to `refuse`.
  if (code === 'custom')
    return { code: FIELD_ERROR_CODES.find((one) => one === issue.params?.code) ?? 'invalid_value', detail: message };
  if (code !== 'invalid_type' && code !== 'invalid_value') return { code: CODES[code], detail: message };
  // `null` is the same as an omitted field.
  if (issue.input === undefined || issue.input === null) {
    return { code: 'required', detail: toPointer(issue.path) === '/data' ? NO_ENVELOPE : 'is required' };
  }
  if (code === 'invalid_value') return { code, detail: `must be one of ${issue.values.map(String).join(', ')}` };
  return { code, detail: `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}` };
}

function unknownField(key: string, path: readonly PropertyKey[], known: readonly string[]): FieldError {
  const suggestion = similarField(key, known);
  return {
    code: 'unknown_field',
    detail: suggestion === undefined ? 'is unknown' : `is unknown; did you mean ${suggestion}?`,
    pointer: toPointer(path),
  };
}

function similarField(key: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const wanted = normalize(key);
  const nearest = closest(wanted, known.map(normalize));
  return distance(wanted, nearest) <= 2 ? known.find((name) => normalize(name) === nearest) : undefined;
}

/** Truncated, because the edit distance of a very long key is expensive. */
const normalize = (name: string): string =>
  name
    .slice(0, 64)
    .toLowerCase()
    .replace(/[^a-z]/g, '');

function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let current: unknown = schema;
  for (const key of path) current = shapeOf(current)?.[String(key)];
  return Object.keys(shapeOf(current) ?? {});
}

function shapeOf(schema: unknown): Record<string, unknown> | undefined {
  return (schema as { shape?: Record<string, unknown> } | undefined)?.shape;
}

/** The name in a JSON pointer of one segment. */
export function fromPointer(pointer: string): string {
  return pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A JSON pointer (RFC 6901). */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
