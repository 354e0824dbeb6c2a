import { type FieldError, PROBLEMS, type ProblemBody, type ProblemCode, type ProblemMembers } from './problem-schema';

/** A sentence names this many; the `errors` beside it hold them all. */
const MAX_ERRORS_TOLD = 10;

interface ProblemOptions {
  errors?: readonly FieldError[];
  headers?: Readonly<Record<string, string>>;
  members?: ProblemMembers;
  cause?: unknown;
}

/** What a use case or a middleware throws to answer with an error; one middleware renders it. */
export class Problem extends Error {
  readonly errors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;
  readonly members: ProblemMembers;

  constructor(
    readonly code: ProblemCode,
    detail: string,
    { errors, headers = {}, members = {}, cause }: ProblemOptions = {},
  ) {
    super(detail, { cause });
    this.errors = errors ?? [{ code, detail }];
    this.headers = headers;
    this.members = members;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  toBody(instance: string, requestId: string): ProblemBody {
    const { status, title } = PROBLEMS[this.code];
    return {
      type: `urn:order-service:problem:${this.code}`,
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

/** The problem of a request with these errors, each told by where it is: a pointer, or `?` and a search parameter. */
export function invalidRequest(errors: readonly FieldError[]): Problem {
  const told = errors.slice(0, MAX_ERRORS_TOLD).map(({ detail, pointer, parameter }) => {
    const place = parameter === undefined ? pointer : `?${parameter}`;
    return `${place || 'The body'} ${detail}`;
  });
  const more = errors.length - told.length;
  const text = `${told.join('; ')}${more > 0 ? `; and ${more} more, see errors` : ''}`;
  return new Problem('invalid_request', text.endsWith('?') ? text : `${text}.`, { errors });
}
