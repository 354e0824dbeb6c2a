import { z } from 'zod';

const text = (id: string, description: string, example: string) =>
  z.string().meta({ description, examples: [example], header: { id } });

/** Headers of answers, by the name under which the document keeps them. */
export const HEADERS = {
  requestId: text(
    'X-Request-Id',
    'Names the call, in the log too: what was sent, if it was sane, else a new one',
    '0d2c9c6e-7e7b-4a53-9f0b-2f1f3f6f6c11',
  ),
  cacheControl: text('Cache-Control', 'Errors are never to be kept', 'no-store'),
  publicCache: z.string().meta({ description: 'May be kept, and asked after', examples: ['no-cache'] }),
  rateLimit: text('RateLimit', 'What is left of each limit, and for how many seconds', '"address";r=4999;t=10'),
  rateLimitPolicy: text(
    'RateLimit-Policy',
    'The limits that count the call: requests in seconds',
    '"address";q=5000;w=10',
  ),
  retryAfter: text('Retry-After', 'Seconds to wait before the call is repeated', '5'),
  wwwAuthenticate: text('WWW-Authenticate', 'How to authenticate', 'Bearer'),
  allow: text('Allow', 'The methods served there', 'DELETE, GET, HEAD'),
  location: text(
    'Location',
    'Path at which the order can be retrieved',
    '/api/lending/edge/ecommerce/order/3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34/',
  ),
  idempotencyReplayed: z.literal('true').meta({
    description: 'There where this is the answer that an earlier call with the same Idempotency-Key got',
    header: { id: 'Idempotency-Replayed' },
  }),
  orderSource: z.enum(['workflow', 'snapshot']).meta({
    description: 'Where the order was read; both are never behind what any caller was told',
    header: { id: 'Order-Source' },
  }),
  etag: text('ETag', 'Send it as If-None-Match: what has not changed is answered 304', '"Zq3kTQ"'),
};

const limits = { RateLimit: HEADERS.rateLimit, 'RateLimit-Policy': HEADERS.rateLimitPolicy };

/** A header that is there in some cases only. */
export function sometimes<T extends z.ZodType>(header: T): z.ZodOptional<T> {
  return header.optional().meta({ description: header.description });
}

/** Of every answer but those of the health checks. */
export const STANDARD_HEADERS = { 'X-Request-Id': HEADERS.requestId, ...limits };

/** Headers that any call may send. */
export const REQUEST_HEADERS = {
  'X-Request-Id': z
    .string()
    .optional()
    .meta({
      description:
        'Your own name for the call: up to 128 letters, digits and `_ . : / + = -`. Anything else is replaced.',
      examples: ['checkout-4711'],
      param: { id: 'X-Request-Id' },
    }),
  traceparent: z
    .string()
    .optional()
    .meta({
      description: 'W3C Trace Context; its trace id is logged. Anything else is left alone.',
      examples: ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
      param: { id: 'traceparent' },
    }),
};
