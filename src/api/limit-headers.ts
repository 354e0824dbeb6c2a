import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { Problem } from '../contracts/problem';

/**
 * Refuses a request whose request line and headers are larger than `maxBytes`. Node's own refusal has no body, and a
 * browser that sends too many cookies needs an explanation.
 */
export function limitHeaders(maxBytes: number): Middleware {
  return ({ req }, next) => {
    if (sizeOf(req) > maxBytes)
      throw new Problem('headers_too_large', `The request line and the headers may have at most ${maxBytes} bytes.`);
    return next();
  };
}

/** A header has a colon, a blank and an end of line. */
const sizeOf = ({ url = '', rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce((sum, text) => sum + text.length + 2, url.length);
