import type { IncomingMessage } from 'node:http';
import bodyParser from 'koa-bodyparser';
import type { z } from 'zod';
import { fieldErrors, fromPointer, invalidRequest } from '../contracts/field-errors';
import type { FieldError } from '../contracts/problem';
import { Problem } from '../contracts/problem';
import type { Context, Next } from './context';
import { hasTimedOut, requestTimeout } from './http-server';

const LIMIT = '64kb';

/** Of the parser within, which the types do not tell: JSON.parse makes `__proto__` a key like any other, too. */
const CO_BODY_OPTIONS = { onProtoPoisoning: 'ignore' };

const parse = bodyParser({
  enableTypes: ['json'],
  jsonLimit: LIMIT,
  // What JSON calls a value may be any value; the schema says what is wrong with it.
  strict: false,
  ...CO_BODY_OPTIONS,
  onerror: (error) => {
    throw toProblem(error);
  },
});

/** Reads a JSON body, and only that. */
export async function jsonBody(ctx: Context, next: Next): Promise<void> {
  if (ctx.is('application/json') === false || ctx.get('Content-Type') === '') {
    throw new Problem('unsupported_media_type', 'Send the body as application/json.');
  }
  try {
    await Promise.race([parse(ctx, () => Promise.resolve()), cutOff(ctx.req)]);
  } catch (error) {
    throw hasTimedOut(ctx.socket) ? requestTimeout() : error;
  }
  // What is not UTF-8 was decoded to this character; text that went through it is not what the caller meant.
  const raw = ctx.request.rawBody;
  if (typeof raw !== 'string' || raw.trim() === '') throw new Problem('malformed_json', 'The body is empty.');
  if (raw.includes('\ufffd')) {
    throw new Problem('malformed_json', 'The body is not valid UTF-8, or holds U+FFFD, the mark of a lost character.');
  }
  await next();
}

/** Rejects where the connection ends before the body does: the parser does not hear of that while it unpacks. */
function cutOff(request: IncomingMessage): Promise<never> {
  return new Promise((_, reject) => {
    request.once('close', () => {
      if (!request.complete) reject(new Problem('bad_request', 'The body ended too soon.'));
    });
  });
}

/** Reads a JSON body where there is one. */
export async function optionalJsonBody(ctx: Context, next: Next): Promise<void> {
  await (hasBody(ctx) ? jsonBody(ctx, next) : next());
}

export function hasBody(ctx: Context): boolean {
  return ctx.get('Transfer-Encoding') !== '' || Number(ctx.get('Content-Length')) !== 0;
}

function toProblem(error: Error & { type?: string; status?: number }): Problem {
  if (error instanceof SyntaxError) return new Problem('malformed_json', error.message);
  switch (error.type ?? String(error.status)) {
    case 'entity.too.large':
      return new Problem('payload_too_large', `The body may be at most ${LIMIT}.`);
    case 'encoding.unsupported':
    case '415':
      return new Problem('unsupported_media_type', 'Send the body as UTF-8, plain or gzip.');
    default:
      return new Problem('bad_request', 'The body could not be read.', { cause: error });
  }
}

/**
 * @param further errors besides those of the schema, told only with them; of one field only the first counts
 * @throws Problem `invalid_request` that names every failing field
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
  throw invalidRequest([...errors, ...further.filter(({ pointer }) => !failing.has(pointer))]);
}

/** @throws Problem `invalid_request` that names every failing search parameter */
export function validateQuery<T extends z.ZodType>(schema: T, query: unknown): z.infer<T> {
  const { data, error } = schema.safeParse(query, { reportInput: true });
  if (!error) return data;
  const toParameter = ({ pointer = '', ...rest }: FieldError) => ({ ...rest, parameter: fromPointer(pointer) });
  throw invalidRequest(fieldErrors(error, schema).map(toParameter));
}
