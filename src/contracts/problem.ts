import { z } from 'zod';
import { openEnum, orderStatus, pounds, text, whole } from './order-schemas';
import { FIELD_ERROR_CODES, PROBLEM_CODES, type ProblemCode, PROBLEMS } from './problem-table';

const openCode = <T extends string>(known: readonly [T, ...T[]], description: string, example?: T) =>
  openEnum(
    known,
    `${description} New codes may be added. Known codes: ${known.map((one) => `\`${one}\``).join(', ')}.`,
    example,
  );

const fieldErrorSchema = z
  .object({
    code: openCode(
      [...FIELD_ERROR_CODES, ...PROBLEM_CODES],
      'Machine-readable and stable. The kind of field error, or the `code` of the problem.',
      'too_small',
    ),
    detail: text('Human-readable explanation; may change', 'must be greater than 0'),
    pointer: text('JSON pointer (RFC 6901) to a field of the request body', '/data/amount').optional(),
    parameter: text('Name of a query parameter', 'limit').optional(),
  })
  .meta({ id: 'FieldError', description: 'One error of the request' });
export type FieldError = z.infer<typeof fieldErrorSchema>;

export const PROBLEM_TYPE = 'application/problem+json';

export const problemSchema = z
  .object({
    type: text('URL of the documentation of the `code`, with its cause and cure'),
    title: text('Short summary; the same for every problem with this code'),
    status: whole('HTTP status'),
    detail: text('Human-readable explanation of this occurrence; may change'),
    instance: text('Path of the request; `/` if the request could not be read'),
    code: openCode(PROBLEM_CODES, 'Machine-readable and stable; use it to handle errors.'),
    request_id: text('The value of the header `X-Request-Id`. Include it in support requests.'),
    errors: z.array(fieldErrorSchema).min(1).meta({ description: 'The errors of the request, at most 50' }),
    order_id: text('For `duplicate_reference`: ID of the order that uses the reference').optional(),
    order_url: text('For `duplicate_reference`: `order_url` of the order that uses the reference').optional(),
    order_status: orderStatus.optional().meta({
      description: 'Current status of the order. For `duplicate_reference`: of the order that uses the reference.',
    }),
    order_amount: pounds(
      'For `duplicate_reference`: amount, in pounds (GBP), of the order that uses the reference',
    ).optional(),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457)' });
export type ProblemBody = z.infer<typeof problemSchema>;

type ProblemMembers = Pick<ProblemBody, 'order_id' | 'order_url' | 'order_status' | 'order_amount'>;

interface ProblemOptions {
  errors?: readonly FieldError[] | undefined;
  headers?: Readonly<Record<string, string>>;
  /** Sets `Retry-After`. */
  retryAfterS?: number;
  members?: ProblemMembers | undefined;
  cause?: unknown;
}

/** An error response. Use cases and middleware throw it; one middleware renders it. */
export class Problem extends Error {
  readonly errors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;
  readonly members: ProblemMembers;

  constructor(
    readonly code: ProblemCode,
    detail: string = PROBLEMS[code].detail,
    { errors, headers = {}, retryAfterS, members = {}, cause }: ProblemOptions = {},
  ) {
    super(detail, { cause });
    this.errors = errors ?? [{ code, detail }];
    this.headers = retryAfterS === undefined ? headers : { ...headers, 'Retry-After': String(retryAfterS) };
    this.members = members;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  /** @param publicUrl the URL of the API as callers see it. Without it, `type` is relative to the URL of the request. */
  toBody(instance: string, requestId: string, publicUrl = ''): ProblemBody {
    const { status, title } = PROBLEMS[this.code];
    return {
      type: `${publicUrl}/docs/errors/#${this.code}`,
      title,
      status,
      detail: this.message,
      instance,
      code: this.code,
      request_id: requestId,
      errors: [...this.errors],
      ...this.members,
    };
  }
}

/** The problem of the documentation. */
export function exampleOf(code: ProblemCode): Problem {
  const { errors, members } = PROBLEMS[code];
  return new Problem(code, undefined, { errors, members });
}

/** A 503, after which the caller may repeat the call. @param detail what has changed, and whether repeating it is safe */
export function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('service_unavailable', detail, { retryAfterS: 5, cause });
}

export function isProblem(error: unknown, code: ProblemCode): error is Problem {
  return error instanceof Problem && error.code === code;
}

/** `detail` lists at most this many of the errors. */
const MAX_ERRORS_IN_DETAIL = 10;

/** A problem whose `detail` names each invalid field (`/data/amount`) or query parameter (`?limit`). */
export function invalidRequest(errors: readonly FieldError[]): Problem {
  const listed = errors.slice(0, MAX_ERRORS_IN_DETAIL).map(({ detail, pointer, parameter }) => {
    const place = parameter === undefined ? pointer : `?${parameter}`;
    return `${place || 'The body'} ${detail}`;
  });
  const more = errors.length - listed.length;
  const text = `${listed.join('; ')}${more > 0 ? `; and ${more} more, see errors` : ''}`;
  return new Problem('invalid_request', text.endsWith('?') ? text : `${text}.`, { errors });
}
