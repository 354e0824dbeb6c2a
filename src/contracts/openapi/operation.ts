import { z } from 'zod';
import type { ZodOpenApiLinksObject, ZodOpenApiOperationObject } from 'zod-openapi';
import type { ProblemCode } from '../problem-table';
import { HEADERS, IF_MATCH, IF_NONE_MATCH, REQUEST_HEADERS, STANDARD_HEADERS } from './headers';
import { UNREADABLE, problemResponses } from './problem-responses';

export const TAGS = [
  { name: 'Orders', description: 'Create, retrieve, list and cancel orders.' },
  { name: 'Checkout', description: "Report the customer's progress. Requires a checkout key." },
  { name: 'Webhooks', description: 'Inspect and resend webhooks, test an endpoint, rotate the webhook secret.' },
  { name: 'Service', description: 'Health checks and this document. No key is required.' },
] as const;

type Examples = Record<string, { summary: string; value: unknown }>;

/** An operation of the API, without the parts that all operations share. */
interface Operation {
  operationId: string;
  tag: (typeof TAGS)[number]['name'];
  summary: string;
  description: string;
  /** Undefined for a public operation. */
  key?: 'seller' | 'checkout';
  path: z.ZodRawShape;
  query?: z.ZodObject;
  headers?: z.ZodRawShape;
  body?: { schema: z.ZodType; required: boolean; examples: Examples };
  response: {
    status: 200 | 201 | 202;
    description: string;
    schema: z.ZodType;
    examples: Examples;
    headers?: z.ZodRawShape;
    links?: ZodOpenApiLinksObject;
  };
  /** The calls for one order return its ETag and support If-Match; a GET supports If-None-Match too. */
  conditional?: 'get' | 'change';
  /** Errors beyond the common ones. */
  errors?: readonly ProblemCode[];
}

/** Errors of every operation; `unauthorized` only of those that require a key. */
const COMMON_ERRORS: readonly ProblemCode[] = [
  'unauthorized',
  'not_found',
  'rate_limited',
  'internal_error',
  'service_unavailable',
];
const BODY_ERRORS: readonly ProblemCode[] = [
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
  'invalid_request',
];

/** Adds the common headers and errors to an operation. */
export function operation(own: Operation): ZodOpenApiOperationObject {
  const { operationId, summary, description, body, query, response } = own;
  const errors = [
    ...COMMON_ERRORS.filter((code) => own.key !== undefined || code !== 'unauthorized'),
    ...(body ? BODY_ERRORS : []),
    ...(query ? (['invalid_request'] as const) : []),
    ...(own.conditional ? (['precondition_failed'] as const) : []),
    ...(own.errors ?? []),
  ];
  return {
    operationId,
    tags: [own.tag],
    summary,
    description,
    security: own.key === undefined ? [] : [{ [`${own.key}Key`]: [] }],
    requestParams: {
      path: z.object(own.path),
      ...(query && { query }),
      header: z.object({
        ...own.headers,
        ...(own.conditional && { 'If-Match': IF_MATCH }),
        ...(own.conditional === 'get' && { 'If-None-Match': IF_NONE_MATCH }),
        ...REQUEST_HEADERS,
      }),
    },
    ...(body && { requestBody: { required: body.required, content: json(body) } }),
    responses: {
      [String(response.status)]: {
        description: response.description,
        headers: z.object({ ...STANDARD_HEADERS, ...response.headers, ...(own.conditional && { ETag: HEADERS.etag }) }),
        content: json(response),
        ...(response.links && { links: response.links }),
      },
      ...(own.conditional === 'get' && {
        '304': {
          description: 'Not changed since the version in If-None-Match',
          headers: z.object({ ...STANDARD_HEADERS, ...response.headers, ETag: HEADERS.etag }),
        },
      }),
      ...UNREADABLE,
      ...problemResponses(errors),
    },
  };
}

function json({ schema, examples }: { schema: z.ZodType; examples: Examples }) {
  return { 'application/json': { schema, examples } };
}

/** A component for the body of a request, and one for its `data`, because generators need names for both. */
export function requestBody(id: string, schema: z.ZodObject<{ data: z.ZodObject }>): z.ZodType {
  return schema.extend({ data: schema.shape.data.meta({ id: `${id}Data` }) }).meta({ id });
}

const responseBodies = new Map<z.ZodType, z.ZodType>();

/** The body of a response, `{"data": …}`: `OrderResponse` for the component `Order`. */
export function inData(schema: z.ZodType): z.ZodType {
  const id = `${z.globalRegistry.get(schema)?.id}Response`;
  const body = responseBodies.get(schema) ?? z.object({ data: schema }).meta({ id });
  responseBodies.set(schema, body);
  return body;
}

/** One page of a list. */
export function page(id: string, item: z.ZodType, cursorExample: string): z.ZodType {
  return z
    .object({
      data: z.array(item),
      next_cursor: z
        .string()
        .nullable()
        .meta({
          description: 'Value of `cursor` for the next page; null on the last page',
          examples: [cursorExample],
        }),
    })
    .meta({ id });
}

const pathId = (name: string, description: string) =>
  z.string().meta({ description, format: 'uuid', param: { id: name } });

export const PATH_IDS = {
  seller: {
    supplier_uuid: pathId('supplier_uuid', 'Your seller ID, in responses `seller_id`. Any other ID returns 404.'),
  },
  order: { order_id: pathId('order_id', 'ID of the order') },
  webhook: { webhook_id: pathId('webhook_id', 'ID of the webhook, as in its header `webhook-id`') },
};
