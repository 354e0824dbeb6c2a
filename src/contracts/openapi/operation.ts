import { z } from 'zod';
import type {
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
  ZodOpenApiLinksObject,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
} from 'zod-openapi';
import { text } from '../order-schemas';
import { type ProblemBody, PROBLEM_TYPE, exampleOf as problemOf, problemSchema } from '../problem';
import { PROBLEMS, type ProblemCode } from '../problem-table';

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
const COMMON_HEADERS = pick('X-Request-Id', 'Cache-Control', 'RateLimit', 'RateLimit-Policy');

const param = (id: string, description: string, example: string) =>
  z
    .string()
    .optional()
    .meta({ description, examples: [example], param: { id } });

const IF_NONE_MATCH = param(
  'If-None-Match',
  'The `ETag` of an earlier response. If nothing has changed since, the response is 304 without a body.',
  '"2"',
);

const IF_MATCH = param(
  'If-Match',
  'The `ETag` of an earlier response, or several. If the order has another version by now, the response is 412, and ' +
    'nothing changes.',
  '"2"',
);

/** Headers that every request may send. */
const REQUEST_HEADERS = {
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

/** The responses for these errors, by status. Each lists its codes, with an example of each. */
function problemResponses(codes: readonly ProblemCode[]): ZodOpenApiResponsesObject {
  const statuses = new Set(codes.map((code) => PROBLEMS[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => [
      String(status),
      problemResponse([...new Set(codes)].filter((code) => PROBLEMS[code].status === status).sort()),
    ]),
  );
}

const components = new Map<ProblemCode, ZodOpenApiResponseObject>();

/** A response with one code is a component. One with several codes belongs to its operation: it has no good name. */
function problemResponse(codes: readonly ProblemCode[]): ZodOpenApiResponseObject {
  const [only] = codes;
  if (only === undefined || codes.length > 1) return createResponse(codes);
  const response = components.get(only) ?? { id: toPascalCase(only), ...createResponse(codes) };
  components.set(only, response);
  return response;
}

function createResponse(codes: readonly ProblemCode[]): ZodOpenApiResponseObject {
  const examples = codes.map((code) => [code, { summary: PROBLEMS[code].title, value: exampleBody(code) }] as const);
  return {
    description: codes.map((code) => `[\`${code}\`](/docs/errors/#${code}): ${PROBLEMS[code].title}`).join('. '),
    headers: z.object(headersOf(codes)),
    content: { [PROBLEM_TYPE]: { schema: problemSchema, examples: Object.fromEntries(examples) } },
  };
}

/** A header that only some of the codes have is optional. */
function headersOf(codes: readonly ProblemCode[]): Record<string, z.ZodType> {
  const each = codes.map((code): Record<string, z.ZodType> => ({
    ...COMMON_HEADERS,
    ...pick(...(PROBLEMS[code].headers ?? [])),
  }));
  return Object.fromEntries(
    Object.entries(Object.assign({}, ...each) as Record<string, z.ZodType>).map(([name, header]) => [
      name,
      each.every((headers) => name in headers) ? header : sometimes(header),
    ]),
  );
}

const exampleBody = (code: ProblemCode): ProblemBody =>
  problemOf(code).toBody(
    '/api/lending/edge/ecommerce/order/3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34/',
    '0d2c9c6e-7e7b-4a53-9f0b-2f1f3f6f6c11',
  );

function toPascalCase(code: string): string {
  return code.replace(/(?:^|_)(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Responses to requests that cannot be read as HTTP, or have too many headers. They come before everything else. */
const UNREADABLE: ZodOpenApiResponsesObject = {
  '400': { id: 'InvalidHttp', description: 'The request is not valid HTTP. The response has no body.' },
  '408': { id: 'RequestTimeout', description: 'The request did not arrive in time. The response has no body.' },
  '431': {
    id: 'HeadersTooLarge',
    description: 'The request has more than 16 KiB of headers. The response has no body.',
  },
};

export const TAGS = [
  { name: 'Orders', description: 'Create, retrieve, list and cancel orders.' },
  { name: 'Checkout', description: "Report the customer's progress. Requires a checkout key." },
  { name: 'Webhooks', description: 'Inspect and resend webhooks, test an endpoint, rotate the webhook secret.' },
] as const;

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
  body?: {
    schema: z.ZodObject<{ data: z.ZodObject }>;
    optional?: true;
    /** Each by its name: a summary and the `data`. */
    examples: Record<string, readonly [summary: string, data: unknown]>;
  };
  response: {
    /** Default: 200. */
    status?: 201 | 202;
    description: string;
    /** The schema of `data`; of a list, that of one item. */
    data: z.ZodType;
    isList?: true;
    /** What differs from the examples of the schema. */
    example?: Record<string, unknown>;
    /** Of a list that is also returned as CSV: an example. */
    csv?: string;
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
  const headers = z.object({ ...COMMON_HEADERS, ...response.headers, ...etag });
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
      requestBody: {
        required: !body.optional,
        content: { 'application/json': { schema: requestBody(operationId, body.schema), examples: examplesOf(body) } },
      },
    }),
    responses: {
      [String(response.status ?? 200)]: {
        description: response.description,
        headers,
        content: {
          'application/json': { schema: responseBody(response), example: responseExample(response) },
          ...(response.csv !== undefined && { 'text/csv': { schema: z.string(), example: response.csv } }),
        },
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

const examplesOf = ({ examples }: NonNullable<Operation['body']>) =>
  Object.fromEntries(
    Object.entries(examples).map(([name, [summary, data]]) => [name, { summary, value: { data } }] as const),
  );

function responseExample({ data, isList, example }: Operation['response']): unknown {
  if (!isList) return { data: Object.assign({}, exampleOf(data), example) };
  const items = data instanceof z.ZodDiscriminatedUnion ? data.options : [data];
  return { data: items.map(exampleOf), next_cursor: null };
}

/** A value with the examples of the schema: its own, or those of its required fields. */
export function exampleOf(schema: z.core.$ZodType): unknown {
  const own = z.globalRegistry.get(schema)?.examples as unknown[] | undefined;
  if (own) return own[0];
  if (schema instanceof z.ZodNullable) return exampleOf(schema.unwrap());
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element)];
  if (schema instanceof z.ZodLiteral) return schema.value;
  if (!(schema instanceof z.ZodObject)) throw new Error(`no example: ${JSON.stringify(z.globalRegistry.get(schema))}`);
  const required = Object.entries(schema.shape as z.ZodRawShape).filter(
    ([, field]) => !(field instanceof z.ZodOptional),
  );
  return Object.fromEntries(required.map(([name, field]) => [name, exampleOf(field)]));
}

/** A component for the body of a request, and one for its `data`, because generators need names for both. */
function requestBody(operationId: string, schema: z.ZodObject<{ data: z.ZodObject }>): z.ZodType {
  const id = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Request`;
  return schema.extend({ data: schema.shape.data.meta({ id: `${id}Data` }) }).meta({ id });
}

const responseBodies = new Map<string, z.ZodType>();

/** The body of a response: `OrderResponse` or `OrderListResponse` for the component `Order`. */
function responseBody({ data, isList }: Operation['response']): z.ZodType {
  const id = `${z.globalRegistry.get(data)?.id}${isList ? 'ListResponse' : 'Response'}`;
  const body =
    responseBodies.get(id) ??
    z.object(isList ? { data: z.array(data), next_cursor: nextCursor } : { data }).meta({ id });
  responseBodies.set(id, body);
  return body;
}

const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Value of `cursor` for the next page; null on the last page' });

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
