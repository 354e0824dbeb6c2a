import type { FieldError, ProblemBody, ProblemMembers } from './problem-schema';
import { PROBLEMS, type ProblemCode } from './problem-table';

interface ProblemOptions {
  errors?: readonly FieldError[];
  headers?: Readonly<Record<string, string>>;
  /** Sets `Retry-After`. */
  retryAfterS?: number;
  members?: ProblemMembers;
  cause?: unknown;
}

/** An error response. Use cases and middleware throw it; one middleware renders it. */
export class Problem extends Error {
  readonly errors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;
  readonly members: ProblemMembers;

  constructor(
    readonly code: ProblemCode,
    detail: string,
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
