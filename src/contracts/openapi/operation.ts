import { z } from 'zod';
import type { ZodOpenApiLinksObject, ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import type { ProblemCode } from '../problem-table';
import { IF_MATCH, IF_NONE_MATCH, REQUEST_HEADERS, STANDARD_HEADERS, pick } from './headers';
import { UNREADABLE, problemResponses } from './problem-responses';

export const TAGS = [
  { name: 'Orders', description: 'Create, retrieve, list and cancel orders.' },
  { name: 'Checkout', description: "Report the customer's progress. Requires a checkout key." },
  { name: 'Webhooks', description: 'Inspect and resend webhooks, test an endpoint, rotate the webhook secret.' },
] as const;

/** Each by its name: a summary and the `data`; of a list, `next_cursor` too, unless it is the last page. */
type Examples = Record<string, readonly [summary: string, data: unknown, nextCursor?: string]>;

/** An operation of the API, without the parts that all operations share. */
export interface Operation {
  /** The method and the path below the base path, such as `GET /order/{order_id}/`. */
  route: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}/`;
  operationId: string;
  /** Default: Orders. */
  tag?: (typeof TAGS)[number]['name'];
  summary: string;
  description: string;
  /** Default: a seller key. */
  key?: 'checkout' | 'none';
  query?: z.ZodObject;
  headers?: z.ZodRawShape;
  body?: { schema: z.ZodObject<{ data: z.ZodObject }>; optional?: true; examples: Examples };
  response: {
    /** Default: 200. */
    status?: 201 | 202;
    description: string;
    /** The schema of `data`; of a list, that of one item. */
    data: z.ZodType;
    /** Of a list: an example of `next_cursor`. */
    cursor?: string;
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

export function toPaths(basePath: string, operations: readonly Operation[]): ZodOpenApiPathsObject {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const operation of operations) {
    const [method = '', path = ''] = operation.route.split(' ');
    paths[basePath + path] = { ...paths[basePath + path], [method.toLowerCase()]: toOperationObject(operation) };
  }
  return paths;
}

/** Adds the common headers and errors to an operation. */
function toOperationObject(own: Operation): ZodOpenApiOperationObject {
  const { operationId, tag = 'Orders', summary, description, key = 'seller', query, body, response, conditional } = own;
  const etag = conditional && pick('ETag');
  const headers = z.object({ ...STANDARD_HEADERS, ...response.headers, ...etag });
  const errors = [
    ...COMMON_ERRORS.filter((code) => key !== 'none' || code !== 'unauthorized'),
    ...(body ? BODY_ERRORS : []),
    ...(query ? (['invalid_request'] as const) : []),
    ...(conditional ? (['precondition_failed'] as const) : []),
    ...(own.errors ?? []),
  ];
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: key === 'none' ? [] : [{ [`${key}Key`]: [] }],
    requestParams: {
      path: z.object(pathIds(own.route)),
      ...(query && { query }),
      header: z.object({
        ...own.headers,
        ...(conditional && { 'If-Match': IF_MATCH }),
        ...(conditional === 'get' && { 'If-None-Match': IF_NONE_MATCH }),
        ...REQUEST_HEADERS,
      }),
    },
    ...(body && {
      requestBody: { required: !body.optional, content: json(requestBody(operationId, body.schema), body) },
    }),
    responses: {
      [String(response.status ?? 200)]: {
        description: response.description,
        headers,
        content: json(responseBody(response), response),
        ...(response.links && { links: response.links }),
      },
      ...(conditional === 'get' && {
        '304': { description: 'Not changed since the version in If-None-Match', headers },
      }),
      ...UNREADABLE,
      ...problemResponses(errors),
    },
  };
}

function json(schema: z.ZodType, { examples, cursor }: { examples: Examples; cursor?: string }) {
  const toExample = ([summary, data, next]: Examples[string]) => ({
    summary,
    value: cursor === undefined ? { data } : { data, next_cursor: next ?? null },
  });
  const all = Object.entries(examples).map(([name, example]) => [name, toExample(example)] as const);
  return { 'application/json': { schema, examples: Object.fromEntries(all) } };
}

/** A component for the body of a request, and one for its `data`, because generators need names for both. */
function requestBody(operationId: string, schema: z.ZodObject<{ data: z.ZodObject }>): z.ZodType {
  const id = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Request`;
  return schema.extend({ data: schema.shape.data.meta({ id: `${id}Data` }) }).meta({ id });
}

const responseBodies = new Map<string, z.ZodType>();

/** The body of a response: `OrderResponse` or `OrderListResponse` for the component `Order`. */
function responseBody({ data, cursor }: Operation['response']): z.ZodType {
  const id = `${z.globalRegistry.get(data)?.id}${cursor === undefined ? 'Response' : 'ListResponse'}`;
  const body = responseBodies.get(id) ?? (cursor === undefined ? z.object({ data }) : page(data, cursor)).meta({ id });
  responseBodies.set(id, body);
  return body;
}

function page(item: z.ZodType, cursorExample: string): z.ZodType {
  return z.object({
    data: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Value of `cursor` for the next page; null on the last page', examples: [cursorExample] }),
  });
}

const pathId = (name: string, description: string) =>
  z.string().meta({ description, format: 'uuid', param: { id: name } });

const PATH_IDS: z.ZodRawShape = {
  supplier_uuid: pathId('supplier_uuid', 'Your seller ID, in responses `seller_id`. Any other ID returns 404.'),
  order_id: pathId('order_id', 'ID of the order'),
  webhook_id: pathId('webhook_id', 'ID of the webhook, as in its header `webhook-id`'),
  pay_link_id: pathId('pay_link_id', 'The `pay_link_id` of the order'),
};

function pathIds(route: string): z.ZodRawShape {
  return Object.fromEntries(Object.entries(PATH_IDS).filter(([name]) => route.includes(`{${name}}`)));
}
