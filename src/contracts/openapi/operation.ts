import { z } from 'zod';
import type { ZodOpenApiLinksObject, ZodOpenApiOperationObject } from 'zod-openapi';
import type { ProblemCode } from '../problem-schema';
import { REQUEST_HEADERS, STANDARD_HEADERS } from './headers';
import { problemResponses } from './problem-responses';

export const TAGS = [
  { name: 'Orders', description: 'What a shop does: create an order, retrieve it, cancel it.' },
  { name: 'Checkout', description: 'What the checkout flow reports of its customer.' },
  { name: 'Webhooks', description: 'What was sent, sending it again, trying an endpoint, changing the secret.' },
  { name: 'Service', description: 'Health checks and this document; without a key.' },
] as const;

type Examples = Record<string, { summary: string; value: unknown }>;

/** A call with a key, less what all of them share. */
interface Operation {
  operationId: string;
  tag: (typeof TAGS)[number]['name'];
  summary: string;
  description: string;
  key: 'seller' | 'checkout';
  path: z.ZodRawShape;
  query?: z.ZodObject;
  headers?: z.ZodRawShape;
  body?: { schema: z.ZodType; required: boolean; examples: Examples };
  answer: {
    status: 200 | 201 | 202;
    description: string;
    schema: z.ZodType;
    examples: Examples;
    headers?: z.ZodRawShape;
    links?: ZodOpenApiLinksObject;
  };
  /** Errors of its own. */
  errors?: readonly ProblemCode[];
}

/** Errors that any call with a key can meet. */
const COMMON_ERRORS: readonly ProblemCode[] = [
  'bad_request',
  'unauthorized',
  'not_found',
  'request_timeout',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'service_unavailable',
];
const BODY_ERRORS: readonly ProblemCode[] = [
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
  'invalid_request',
];

/** An operation as the document has it: its own, with the headers and errors that all share. */
export function operation(own: Operation): ZodOpenApiOperationObject {
  const { operationId, summary, description, body, query, answer } = own;
  const errors = [
    ...COMMON_ERRORS,
    ...(body ? BODY_ERRORS : []),
    ...(query ? (['invalid_request'] as const) : []),
    ...(own.errors ?? []),
  ];
  return {
    operationId,
    tags: [own.tag],
    summary,
    description,
    security: [{ [`${own.key}Key`]: [] }],
    requestParams: {
      path: z.object(own.path),
      ...(query && { query }),
      header: z.object({ ...own.headers, ...REQUEST_HEADERS }),
    },
    ...(body && { requestBody: { required: body.required, content: json(body) } }),
    responses: {
      [String(answer.status)]: {
        description: answer.description,
        headers: z.object({ ...STANDARD_HEADERS, ...answer.headers }),
        content: json(answer),
        ...(answer.links && { links: answer.links }),
      },
      ...problemResponses(errors),
    },
  };
}

function json({ schema, examples }: { schema: z.ZodType; examples: Examples }) {
  return { 'application/json': { schema, examples } };
}

/** `{"data": …}`, as every body is. */
export const inData = <T extends z.ZodType>(schema: T) => z.object({ data: schema });

/** One page of a list. */
export function page<T extends z.ZodType>(item: T, cursorExample: string) {
  return z.object({
    data: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .meta({
        description: 'Pass it as `cursor` to get the next page; null on the last one',
        examples: [cursorExample],
      }),
  });
}

const pathId = (name: string, description: string) =>
  z.string().meta({ description, format: 'uuid', param: { id: name } });

export const PATH_IDS = {
  supplier: { supplier_uuid: pathId('supplier_uuid', 'Your id as a seller. Another one is answered 404.') },
  order: { order_id: pathId('order_id', 'Id of the order') },
  webhook: { webhook_id: pathId('webhook_id', 'Id of the webhook, as in its header `webhook-id`') },
};
