import type { z } from 'zod';
import { fieldErrors } from '../contracts/field-errors';
import { invalidRequest } from '../contracts/problem';

/** @throws Problem `invalid_request` that names every invalid field */
export function parse<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const { data, error } = schema.safeParse(value, { reportInput: true });
  if (error) throw invalidRequest(fieldErrors(error, schema));
  return data;
}

/** The lines of a text area that are not empty. */
export const linesOf = (text = ''): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
