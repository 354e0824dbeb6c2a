import type { IncomingMessage } from 'node:http';
import bodyParser from 'koa-bodyparser';
import type { z } from 'zod';
import { fieldErrors, fromPointer } from '../contracts/field-errors';
import { Problem, invalidRequest } from '../contracts/problem';
import type { FieldError } from '../contracts/problem-schema';
import type { Context, Next } from './context';
import { hasTimedOut, requestTimeout } from './http-server';

/** Of the parser within, which the types do not tell: JSON.parse makes `__proto__` a key like any other, too. */
const CO_BODY_OPTIONS = { onProtoPoisoning: 'ignore' };

type Middleware = (ctx: Context, next: Next) => Promise<void>;

export interface BodyReaders {
  /** Reads a JSON body, and only that. */
  jsonBody: Middleware;
  /** Reads a JSON body where there is one. */
  optionalJsonBody: Middleware;
}

export function createBodyReaders(maxBytes: number): BodyReaders {
  const parse = bodyParser({
    enableTypes: ['json'],
    jsonLimit: `${maxBytes}b`,
    // What JSON calls a value may be any value; the schema says what is wrong with it.
    strict: false,
    ...CO_BODY_OPTIONS,
    onerror: (error) => {
      throw toProblem(error, maxBytes);
    },
  });

  async function jsonBody(ctx: Context, next: Next): Promise<void> {
    if (ctx.is('application/json') === false || ctx.get('Content-Type') === '') {
      throw new Problem('unsupported_media_type', 'Send the body as application/json.');
    }
    if (!/^(utf-?8)?$/i.test(ctx.request.charset)) throw wrongEncoding();
    try {
      await Promise.race([parse(ctx, () => Promise.resolve()), cutOff(ctx.req)]);
    } catch (error) {
      throw hasTimedOut(ctx.socket) ? requestTimeout() : error;
    }
    // What is not UTF-8 was decoded to this character; text that went through it is not what the caller meant.
    const raw = ctx.request.rawBody;
    if (typeof raw !== 'string' || raw.trim() === '') throw new Problem('malformed_json', 'The body is empty.');
    if (raw.includes('\ufffd')) {
      throw new Problem(
        'malformed_json',
        'The body is not valid UTF-8, or holds U+FFFD, the mark of a lost character.',
      );
    }
    await next();
  }

  return {
    jsonBody,
    async optionalJsonBody(ctx, next) {
      await (hasBody(ctx) ? jsonBody(ctx, next) : next());
    },
  };
}

/** Rejects where the connection ends before the body does: the parser does not hear of that while it unpacks. */
function cutOff(request: IncomingMessage): Promise<never> {
  return new Promise((_, reject) => {
    request.once('close', () => {
      if (!request.complete) reject(new Problem('bad_request', 'The body ended too soon.'));
    });
  });
}

export function hasBody(ctx: Context): boolean {
  return ctx.get('Transfer-Encoding') !== '' || Number(ctx.get('Content-Length')) !== 0;
}

function toProblem(error: Error & { type?: string; status?: number }, maxBytes: number): Problem {
  if (error instanceof SyntaxError) return new Problem('malformed_json', error.message);
  switch (error.type ?? String(error.status)) {
    case 'entity.too.large':
      return new Problem('payload_too_large', `The body may be at most ${maxBytes} bytes.`);
    case 'encoding.unsupported':
    case '415':
      return wrongEncoding();
    default:
      return new Problem('bad_request', 'The body could not be read.', { cause: error });
  }
}

function wrongEncoding(): Problem {
  return new Problem('unsupported_media_type', 'Send the body in UTF-8, as it is or packed by gzip, deflate or br.');
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
export function validateQuery<T extends z.ZodType>(schema: T, query: Context['query']): z.infer<T> {
  const { data, error } = schema.safeParse(query, { reportInput: true });
  if (!error) return data;
  const errors = fieldErrors(error, schema).map(({ code, detail, pointer = '' }) => {
    const parameter = fromPointer(pointer);
    // To Koa, what is given twice is a list.
    const isRepeated = code !== 'unknown_field' && Array.isArray(query[parameter]);
    return { code, detail: isRepeated ? 'must be given once' : detail, parameter };
  });
  throw invalidRequest(errors);
}
