import type { ZodOpenApiObject, ZodOpenApiOverride } from 'zod-openapi';
import { createDocument } from 'zod-openapi';
import { problemSchema } from '../problem-schema';
import type { OrderRules } from '../fields';
import { TAGS } from './operation';
import { orderPaths } from './order-operations';
import { WEBHOOKS } from './outgoing-webhooks';
import { methodNotAllowedResponse } from './problem-responses';
import { SERVICE_PATHS } from './service-operations';
import { webhookPaths } from './webhook-operations';

export type OpenApiDocument = ReturnType<typeof createDocument>;

const describe = (maxBodyBytes: number): string =>
  `
Sellers create orders, send their customers to \`order_url\`, and hear by webhook how it goes.

- **Keys**: \`Authorization: Bearer <key>\`. A seller's key (\`sk_…\`) reaches that seller's orders alone: what is another
  seller's is answered 404, as what does not exist.
- **Bodies** are \`{"data": …}\` as \`application/json\`, at most ${maxBodyBytes} bytes. Unknown fields of a request are refused; take unknown
  fields of an answer in your stride.
- **Paths** end with a slash; the form without it is served alike. Where GET is served, so is HEAD. Another method is answered
  405, with \`Allow\`.
- **Errors** are \`application/problem+json\` (RFC 9457): go by \`code\`, which is stable. Further codes may be added, to
  problems and to their \`errors\`: take one that you do not know by its HTTP status.
- **Repeating** a call is safe after a timeout, a 429 or a 503; give \`createOrder\` an \`Idempotency-Key\`.
- **Rate limits** count requests by key or seller, and by address; \`RateLimit\` and \`RateLimit-Policy\` tell of them
  (draft-ietf-httpapi-ratelimit-headers-11), and a 429 says in \`Retry-After\` when to come back.
- **Signed answers**: an operator can set a header for the HMAC-SHA256 of each answer's body, by the key that was presented.
- **Times** are ISO 8601 in UTC, **amounts** JSON numbers in pounds.
`.trim();

interface DocumentOptions {
  /** Path prefix of all calls that need a key. */
  basePath: string;
  rules: OrderRules;
  maxBodyBytes: number;
  /** Version of the package. */
  version: string;
}

/** The HTTP contract as OpenAPI 3.1, generated from the schemas that validate requests. */
export function createOpenApiDocument({ basePath, rules, maxBodyBytes, version }: DocumentOptions): OpenApiDocument {
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Order service',
      version,
      description: describe(maxBodyBytes),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'Where this document is' }],
    tags: [...TAGS],
    paths: { ...orderPaths(basePath, rules), ...webhookPaths(basePath, rules), ...SERVICE_PATHS },
    webhooks: WEBHOOKS,
    components: {
      schemas: { Problem: problemSchema },
      responses: { MethodNotAllowed: methodNotAllowedResponse },
      securitySchemes: {
        sellerKey: { type: 'http', scheme: 'bearer', description: 'Key of a seller: `sk_…`' },
        checkoutKey: { type: 'http', scheme: 'bearer', description: 'Key of the checkout flow: `ck_…`' },
      },
    },
  };
  return createDocument(document, { override: leaveOpen });
}

/** An answer may get further fields without a new version; only requests are strict. */
const leaveOpen: ZodOpenApiOverride = ({ jsonSchema, zodSchema: { _zod: zod } }) => {
  if (zod.def.type === 'object' && zod.def.catchall === undefined) delete jsonSchema.additionalProperties;
};
