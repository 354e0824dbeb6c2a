import type { z } from 'zod';
import { MAX_ERRORS, fieldErrors, fromPointer } from '../contracts/field-errors';
import { invalidRequest } from '../contracts/problem';
import type { FieldError } from '../contracts/problem-schema';
import type { Context } from './context';

/**
 * @param further errors to report beside the schema's, except for fields that the schema refuses. Ignored if the body
 *   matches the schema.
 * @throws Problem `invalid_request` with an error for every invalid field
 */
export function validate<T extends z.ZodType>(
  schema: T,
  body: unknown,
  further: readonly FieldError[] = [],
): z.infer<T> {
  const { data, error } = schema.safeParse(body, { reportInput: true });
  if (!error) return data;
  const errors = fieldErrors(error, schema);
  const failing = new Set(errors.map(({ pointer }) => pointer));
  throw invalidRequest([...errors, ...further.filter(({ pointer }) => !failing.has(pointer))].slice(0, MAX_ERRORS));
}

/** @throws Problem `invalid_request` with an error for every invalid search parameter */
export function validateQuery<T extends z.ZodType>(schema: T, query: Context['query']): z.infer<T> {
  const { data, error } = schema.safeParse(query, { reportInput: true });
  if (!error) return data;
  const errors = fieldErrors(error, schema).map(({ code, detail, pointer = '' }): FieldError => {
    const parameter = fromPointer(pointer);
    // Koa parses a repeated parameter as an array.
    const isRepeated = code !== 'unknown_field' && Array.isArray(query[parameter]);
    return { ...(isRepeated ? { code: 'invalid_type', detail: 'must be given once' } : { code, detail }), parameter };
  });
  throw invalidRequest(errors);
}
