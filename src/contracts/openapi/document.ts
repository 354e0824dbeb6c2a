import { type ZodOpenApiObject, type ZodOpenApiOverride, createDocument } from 'zod-openapi';
import { MAX_BODY_PARTS, type OrderRules } from '../fields';
import { TAGS, toPaths } from './operation';
import { orderOperations } from './order-operations';
import { WEBHOOKS, webhookOperations } from './webhook-operations';

export type OpenApiDocument = ReturnType<typeof createDocument>;

const describe = (maxBodyBytes: number, guides: string): string =>
  `
Create orders, send customers to \`order_url\`, and receive webhooks when the status of an order changes.

Guides: ${guides}.

- **Authentication**: send \`Authorization: Bearer <key>\`. The operator of the service issues keys. A seller key (\`sk_…\`)
  can access only that seller's orders.
  Another seller's order returns 404, like an order that does not exist.
- **Your seller ID** is \`supplier_uuid\` in paths and \`seller_id\` in responses.
- **Bodies** are \`{"data": …}\` with the content type \`application/json\`, at most ${maxBodyBytes} bytes,
  ${MAX_BODY_PARTS} fields and list items (an empty list counts as one) and 100 levels. A list also has
  \`next_cursor\`: pass it as \`cursor\` to get the next page. It is null on the last page. A request with an unknown field
  fails. Ignore unknown fields in responses: new ones may be added.
- **Paths** end with a slash; the slash is optional in requests. Every GET path also supports HEAD. OPTIONS returns 204,
  and any other method 405 (\`method_not_allowed\`), both with the header \`Allow\`.
- **Errors** are \`application/problem+json\` (RFC 9457). Handle them by \`code\`, which is stable. New codes may be added;
  handle an unknown code by its HTTP status. The \`type\` of an error is the URL of its documentation, with cause and cure.
  A request that cannot be read as HTTP gets a 400, 408 or 431 without a body.
- **Retries**: repeat a request after no response, a 408, a 429 or a 5xx, and after \`idempotency_key_in_progress\`.
  If the response has \`Retry-After\`, wait that many seconds first. Send an \`Idempotency-Key\` with \`createOrder\`; then a
  repeated request creates no second order. A repeated \`rotateWebhookSecret\` creates another secret, and a repeated
  \`testEndpoint\` sends another webhook.
- **Rate limits** apply to each key or seller, and to requests without a valid key from each IP address. \`RateLimit\`
  and \`RateLimit-Policy\` report them (draft-ietf-httpapi-ratelimit-headers-11). A list counts as one request for each 10
  items of its \`limit\`, and a CSV, a webhook test or a resend of many as 20. After a 429, wait for the number of seconds in \`Retry-After\`.
- **Signed responses**: if the operator configures a header for it, every authenticated response contains the base64
  HMAC-SHA256 of its body, with the API key of the request as the secret. Exceptions: a 400, 408 or 431 for a request that
  cannot be read, a 503 while the service cannot look up the key, and CSV. Treat an unsigned 408 or 5xx as no response.
- **Times** are ISO 8601 in UTC. **Amounts** are JSON numbers in pounds (GBP).
`.trim();

/** How sellers reach the API and its operator. */
export interface PublicApi {
  /** Path prefixes of all calls that need a key. The document has the first. */
  basePaths: readonly string[];
  publicUrl?: string | undefined;
  /** Email address or URL. */
  supportContact?: string | undefined;
}

interface DocumentOptions {
  api: PublicApi;
  rules: OrderRules;
  maxBodyBytes: number;
  /** Version of the package. */
  version: string;
  /** The pages at `/docs/<name>/`. */
  guides: readonly { name: string; title: string }[];
}

/** The HTTP contract as OpenAPI 3.1, generated from the schemas that validate requests. */
export function createOpenApiDocument({ api, rules, maxBodyBytes, version, guides }: DocumentOptions): OpenApiDocument {
  const [basePath = ''] = api.basePaths;
  const links = guides.map(({ name, title }) => `[${title}](${api.publicUrl ?? ''}/docs/${name}/)`);
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Order service',
      version,
      description: describe(maxBodyBytes, links.join(', ')),
      contact: contact(api.supportContact),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      api.publicUrl === undefined
        ? { url: '/', description: 'The server of this document' }
        : { url: api.publicUrl, description: 'The API' },
    ],
    tags: [...TAGS],
    paths: toPaths(basePath, [...orderOperations(rules), ...webhookOperations(rules)]),
    webhooks: WEBHOOKS,
    components: {
      securitySchemes: {
        sellerKey: { type: 'http', scheme: 'bearer', description: 'API key of a seller: `sk_…`' },
        checkoutKey: { type: 'http', scheme: 'bearer', description: 'API key of the checkout: `ck_…`' },
      },
    },
  };
  return createDocument(document, { override: forGenerators });
}

function contact(support: string | undefined) {
  const name = 'Support of the operator';
  if (support === undefined) return { name };
  return support.includes('@') && !support.includes(':') ? { name, email: support } : { name, url: support };
}

/** Formats that generators parse to a type of the language, so that they cannot apply a pattern. */
const PARSED_FORMATS = ['date', 'date-time', 'uuid'];

/** Adapts the schemas to what generators of clients support. */
const forGenerators: ZodOpenApiOverride = ({ jsonSchema, zodSchema: { _zod: zod } }) => {
  // Only requests are strict. A response may get new fields without a new version.
  if (zod.def.type === 'object' && zod.def.catchall === undefined) delete jsonSchema.additionalProperties;
  // A union has no name. `type: [string, null]` needs none.
  const [value, none] = jsonSchema.anyOf ?? [];
  if (none?.type === 'null' && typeof value?.type === 'string') {
    delete jsonSchema.anyOf;
    Object.assign(jsonSchema, { ...value, ...jsonSchema, type: [value.type, 'null'] });
  }
  if (PARSED_FORMATS.includes(jsonSchema.format ?? '')) delete jsonSchema.pattern;
  // zod's limits of every integer.
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};
