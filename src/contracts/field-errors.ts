import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { FIELD_ERROR_CODES, type FieldError, type FieldErrorCode } from './problem-schema';

/** A zod error as the `errors` of a problem: one for each failing or unknown field. */
export function fieldErrors(error: z.ZodError, schema: z.ZodType): FieldError[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownField(key, [...issue.path, key], knownFields(schema, issue.path)));
    }
    return [{ ...codeAndDetail(issue), pointer: toPointer(issue.path) }];
  });
}

/** What is wrong with one field; an unknown one is told apart. */
type FieldIssue = Exclude<z.core.$ZodIssue, z.core.$ZodIssueUnrecognizedKeys>;

/** Our own code for each that zod has. */
const CODES: Record<Exclude<FieldIssue['code'], 'custom'>, FieldErrorCode> = {
  invalid_type: 'invalid_type',
  invalid_value: 'invalid_value',
  too_small: 'too_small',
  too_big: 'too_big',
  invalid_format: 'invalid_format',
  // Of formats, as a moment is: a time or a date.
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

/** In words that follow the name of a field, as the rules' own messages do: "must be a number". */
function codeAndDetail(issue: FieldIssue): Pick<FieldError, 'code' | 'detail'> {
  const { code, message } = issue;
  if (code === 'custom') return { code: ownCode(issue.params?.code), detail: message };
  if (code !== 'invalid_type' && code !== 'invalid_value') return { code: CODES[code], detail: message };
  // `null` means that a field was left out.
  if (issue.input === undefined || issue.input === null) return { code: 'required', detail: 'is required' };
  if (code === 'invalid_value') return { code, detail: `must be one of ${issue.values.map(String).join(', ')}` };
  return { code, detail: `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}` };
}

/** What a rule says by `refuse`; one that says nothing is still told by a documented code. */
function ownCode(given: unknown): FieldErrorCode {
  return FIELD_ERROR_CODES.find((code) => code === given) ?? 'invalid_value';
}

function unknownField(key: string, path: readonly PropertyKey[], known: readonly string[]): FieldError {
  const meant = known.length > 0 ? closest(normalise(key), known.map(normalise)) : undefined;
  const name = known.find((candidate) => normalise(candidate) === meant);
  const near = name && distance(normalise(key), normalise(name)) <= 2;
  return {
    code: 'unknown_field',
    detail: near ? `is unknown; did you mean ${name}?` : 'is unknown',
    pointer: toPointer(path),
  };
}

const normalise = (name: string): string =>
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

/** The name that a pointer of one step leads to. */
export function fromPointer(pointer: string): string {
  return pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** RFC 6901. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
