import { z } from 'zod';
import { text } from '../order-schemas';

/** Response headers by their names, each a component of its own. */
export const HEADERS = asComponents({
  'X-Request-Id': text(
    'ID of the request: the one you sent if it was valid, otherwise a new one',
    '0d2c9c6e-7e7b-4a53-9f0b-2f1f3f6f6c11',
  ),
  'Cache-Control': text('Responses must not be cached', 'no-store'),
  RateLimit: text('Remaining requests and seconds until the reset, for each limit', '"key";r=999;t=10'),
  'RateLimit-Policy': text('The limits that apply to the request: quota and window in seconds', '"key";q=1000;w=10'),
  'Retry-After': text('Seconds to wait before repeating the request', '5'),
  'WWW-Authenticate': text('The authentication scheme', 'Bearer'),
  Allow: text('The methods that the path supports', 'DELETE, GET, HEAD'),
  Location: text('Path of the new order', '/api/lending/edge/ecommerce/order/3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34/'),
  'Idempotency-Replayed': z.literal('true').meta({
    description: 'Present if this is the response to an earlier request with the same Idempotency-Key',
  }),
  'Order-Source': z.enum(['workflow', 'snapshot']).meta({
    description: 'Where the order was read. Both sources include every acknowledged change.',
  }),
  ETag: text(
    'Version of the content. Send it in If-None-Match to get 304 if nothing changed, or in If-Match to get 412 if something did.',
    '"2"',
  ),
});

function asComponents<T extends Record<string, z.ZodType>>(headers: T): T {
  const all = Object.entries(headers).map(([id, header]) => [id, header.meta({ header: { id } })]);
  return Object.fromEntries(all) as T;
}

/** Some of the headers. */
export function pick(...names: (keyof typeof HEADERS)[]): Record<string, z.ZodType> {
  return Object.fromEntries(names.map((name) => [name, HEADERS[name]]));
}

/** A header that is present only in some cases. */
export function sometimes<T extends z.ZodType>(header: T): z.ZodOptional<T> {
  return header.optional().meta({ description: header.description });
}

/** Headers of every response except those to requests that cannot be read. */
export const STANDARD_HEADERS = pick('X-Request-Id', 'Cache-Control', 'RateLimit', 'RateLimit-Policy');

const param = (id: string, description: string, example: string) =>
  z
    .string()
    .optional()
    .meta({ description, examples: [example], param: { id } });

export const IF_NONE_MATCH = param(
  'If-None-Match',
  'The `ETag` of an earlier response. If nothing has changed since, the response is 304 without a body.',
  '"2"',
);

export const IF_MATCH = param(
  'If-Match',
  'The `ETag` of an earlier response, or several. If the order has another version by now, the response is 412, and ' +
    'nothing changes.',
  '"2"',
);

/** Headers that every request may send. */
export const REQUEST_HEADERS = {
  'X-Request-Id': param(
    'X-Request-Id',
    'Your ID for the request: up to 128 letters, digits and `_ . : / + = -`. An invalid ID is replaced.',
    'checkout-4711',
  ),
  traceparent: param(
    'traceparent',
    'W3C Trace Context. The trace ID is logged, and webhooks about the change carry it; an invalid value is ignored.',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ),
};
