import { z } from 'zod';
import { openEnum } from './open-enum';
import { DOUBLE, orderStatus } from './order-schemas';
import { FIELD_ERROR_CODES, type FieldErrorCode, PROBLEM_CODES, type ProblemCode } from './problem-table';

const openCode = <T extends string>(known: readonly [T, ...T[]], description: string) =>
  openEnum(
    known,
    `${description} New codes may be added. Known codes: ${known.map((one) => `\`${one}\``).join(', ')}.`,
  );

// As for actors and channels, the TypeScript client accepts any string too, and editors suggest the known values.
type OpenCode<T extends string> = z.ZodType<T | (string & Record<never, never>)>;
const problemCode: OpenCode<ProblemCode> = openCode(
  PROBLEM_CODES,
  'Machine-readable and stable; use it to handle errors.',
);
const fieldErrorCode: OpenCode<FieldErrorCode | ProblemCode> = openCode(
  [...FIELD_ERROR_CODES, ...PROBLEM_CODES],
  'Machine-readable and stable. The kind of field error, or the `code` of the problem.',
).meta({ examples: ['too_small'] });

const fieldErrorSchema = z
  .object({
    code: fieldErrorCode,
    detail: z
      .string()
      .meta({ description: 'Human-readable explanation; may change', examples: ['must be greater than 0'] }),
    pointer: z
      .string()
      .optional()
      .meta({ description: 'JSON pointer (RFC 6901) to a field of the request body', examples: ['/data/amount'] }),
    parameter: z
      .string()
      .optional()
      .meta({ description: 'Name of a query parameter', examples: ['limit'] }),
  })
  .meta({ id: 'FieldError', description: 'One error of the request' });
export type FieldError = z.infer<typeof fieldErrorSchema>;

export const PROBLEM_TYPE = 'application/problem+json';

/** The body of every error response. */
export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'URL of the documentation of the `code`, with its cause and cure' }),
    title: z.string().meta({ description: 'Short summary; the same for every problem with this code' }),
    status: z.number().int().meta({ description: 'HTTP status' }),
    detail: z.string().meta({ description: 'Human-readable explanation of this occurrence; may change' }),
    instance: z.string().meta({ description: 'Path of the request; `/` if the request could not be read' }),
    code: problemCode,
    request_id: z
      .string()
      .meta({ description: 'The value of the header `X-Request-Id`. Include it in support requests.' }),
    errors: z.array(fieldErrorSchema).min(1).meta({ description: 'The errors of the request, at most 50' }),
    order_id: z
      .string()
      .optional()
      .meta({ description: 'For `duplicate_reference`: ID of the order that uses the reference' }),
    order_url: z
      .string()
      .optional()
      .meta({ description: 'For `duplicate_reference`: `order_url` of the order that uses the reference' }),
    order_status: orderStatus.optional().meta({
      description: 'Current status of the order. For `duplicate_reference`: of the order that uses the reference.',
    }),
    order_amount: z
      .number()
      .optional()
      .meta({
        ...DOUBLE,
        description: 'For `duplicate_reference`: amount, in pounds (GBP), of the order that uses the reference',
      }),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457)' });
export type ProblemBody = z.infer<typeof problemSchema>;

/** Fields that only some codes have. */
export type ProblemMembers = Pick<ProblemBody, 'order_id' | 'order_url' | 'order_status' | 'order_amount'>;
