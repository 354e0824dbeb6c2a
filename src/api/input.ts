import { once } from 'node:events';
import bodyParser from 'koa-bodyparser';
import type { z } from 'zod';
import { fieldErrors, fromPointer, validate } from '../contracts/field-errors';
import { Problem, invalidRequest, type FieldError } from '../contracts/problem';
import type { Context, RouteMiddleware, Next } from './context';
import { describePlace, describeSyntaxError, findFault } from './json-errors';

export interface BodyReaders {
  jsonBody: RouteMiddleware;
  /** Accepts a JSON body or none, however none is framed: see `dataOf`. */
  optionalJsonBody: RouteMiddleware;
}

export function createBodyReaders(maxBytes: number): BodyReaders {
  const parse = bodyParser({
    enableTypes: ['text'],
    extendTypes: { text: ['application/json'] },
    textLimit: `${maxBytes}b`,
    onerror: (error) => {
      throw toProblem(error, maxBytes);
    },
  });

  async function jsonBody(ctx: Context, next: Next): Promise<void> {
    if (ctx.is('application/json') === false || ctx.get('Content-Type') === '') {
      throw new Problem('unsupported_media_type', 'Send the header "Content-Type: application/json" with the body.');
    }
    if (!/^(utf-?8)?$/i.test(ctx.request.charset) || isCompressed(ctx.get('Content-Encoding'))) {
      throw new Problem('unsupported_media_type', 'Send the body in UTF-8 and uncompressed.');
    }
    await parse(ctx, () => Promise.resolve());
    // The decoder replaces bytes that are not UTF-8 with U+FFFD, so a body that contains it has probably lost text.
    const raw = ctx.request.rawBody;
    if (typeof raw !== 'string' || raw.trim() === '') throw new Problem('malformed_json', 'The body is empty.');
    const replaced = raw.indexOf('\ufffd');
    if (replaced >= 0) {
      const what = 'The body is not valid UTF-8, or contains U+FFFD, the replacement character';
      throw new Problem('malformed_json', `${what}, at ${describePlace(raw, replaced)}.`);
    }
    ctx.request.body = parseJson(raw);
    await next();
  }

  return {
    jsonBody,
    async optionalJsonBody(ctx, next) {
      await ((await hasBody(ctx)) ? jsonBody(ctx, next) : next());
    },
  };
}

/** Compressed bodies are refused: a few bytes can expand to megabytes. */
export const isCompressed = (encoding: string): boolean => !['', 'identity'].includes(encoding.toLowerCase());

/**
 * Accepts every JSON value: the schema reports a body that is not an object.
 * @throws Problem
 */
function parseJson(raw: string): unknown {
  try {
    const fault = findFault(raw);
    const parsed: unknown = fault && fault.code !== 'duplicate_key' ? undefined : JSON.parse(raw);
    if (fault) throw invalidRequest([fault]);
    return parsed;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Problem('malformed_json', `The body is not valid JSON: ${describeSyntaxError(raw)}.`);
  }
}

/** Some proxies forward a request without a body as a chunked one without chunks. */
async function hasBody({ req, headers }: Context): Promise<boolean> {
  if (headers['transfer-encoding'] === undefined) return Number(headers['content-length'] ?? 0) !== 0;
  if (!req.complete && req.readableLength === 0) {
    const events = ['readable', 'end', 'close'].map((name) => once(req, name));
    // The parser of the body reports an error.
    await Promise.race(events).catch(() => undefined);
  }
  return req.readableLength > 0 || !req.complete;
}

/** The `data` of the body; no fields if there is no body. @throws Problem `invalid_request` */
export const dataOf = <T>({ request }: Context, schema: z.ZodType<{ data: T }>): T =>
  validate(schema, request.rawBody === undefined ? { data: {} } : request.body).data;

function toProblem(error: Error & { type?: string; status?: number }, maxBytes: number): Problem {
  switch (error.type ?? String(error.status)) {
    case 'entity.too.large':
      return new Problem('payload_too_large', `The body may be at most ${maxBytes} bytes.`);
    case 'request.aborted':
      return new Problem('malformed_json', 'The body is incomplete.', { cause: error });
    default:
      return new Problem('malformed_json', 'The body could not be read.', { cause: error });
  }
}

/** @throws Problem `invalid_request` */
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
