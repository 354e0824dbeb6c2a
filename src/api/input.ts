import { once } from 'node:events';
import bodyParser from 'koa-bodyparser';
import type { z } from 'zod';
import { toPointer, fieldErrors, fromPointer } from '../contracts/field-errors';
import { Problem, invalidRequest, type FieldError } from '../contracts/problem';
import type { Context, RouteMiddleware, Next } from './context';
import { MAX_DEPTH, describePlace, describeSyntaxError, inspectJson, isPlainJson } from './json-errors';

/**
 * An option of co-body that the types lack. `__proto__` stays an ordinary key, as in JSON.parse; the schemas refuse it.
 */
const CO_BODY_OPTIONS = { onProtoPoisoning: 'ignore' };

export interface BodyReaders {
  jsonBody: RouteMiddleware;
  /** Accepts a JSON body or none, however none is framed: `bodyOf` returns undefined for it. */
  optionalJsonBody: RouteMiddleware;
}

export function createBodyReaders(maxBytes: number): BodyReaders {
  const parse = bodyParser({
    enableTypes: ['json'],
    jsonLimit: `${maxBytes}b`,
    // Accepts every JSON value, so that the schema reports a body that is not an object.
    strict: false,
    ...CO_BODY_OPTIONS,
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
    refuseDuplicateKeys(raw);
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

/** @throws Problem `invalid_request` if an object has a key twice, on which parsers disagree, or the body is too deep to tell */
function refuseDuplicateKeys(raw: string): void {
  if (isPlainJson(raw)) return;
  const { duplicate, isTooDeep } = inspectJson(raw);
  if (isTooDeep) {
    const detail = `must not be nested more than ${MAX_DEPTH} levels deep`;
    throw invalidRequest([{ code: 'too_deep', detail, pointer: '' }]);
  }
  if (!duplicate) return;
  throw invalidRequest([{ code: 'duplicate_key', detail: 'must be given once', pointer: toPointer(duplicate) }]);
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

export const bodyOf = ({ request }: Context): unknown => (request.rawBody === undefined ? undefined : request.body);

function toProblem(error: Error & { type?: string; status?: number; body?: string }, maxBytes: number): Problem {
  if (error instanceof SyntaxError)
    return new Problem('malformed_json', `The body is not valid JSON: ${describeSyntaxError(error.body ?? '')}.`);
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
