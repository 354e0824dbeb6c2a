import { randomUUID } from 'node:crypto';
import { PAGES } from '../../src/api/docs-routes';
import { BASE } from './api';

/** Who owns the object that a path refers to. */
export type Whose = 'own' | "another's" | 'missing' | 'malformed';
export const WHOSE: readonly Whose[] = ['own', "another's", 'missing', 'malformed'];

/** The kind of key that a route needs, and its status for the caller's own objects. */
interface Row {
  kind: 'seller' | 'checkout';
  ok: number;
  body?: () => unknown;
}

/** Routes that need no key, with the reason. */
export const OPEN: Record<string, string> = {
  [`GET ${BASE}/seller/:sellerId/repayment_example`]: 'for the product pages of shops',
  'GET /health/live': 'for load balancers',
  'GET /health/ready': 'for people, start-up and roll-outs',
  'GET /health/serving': 'for load balancers',
  'GET /openapi.json': 'the contract',
  ...Object.fromEntries([...PAGES.keys()].map((path) => [`GET ${path}`, 'documentation of the contract'])),
  'GET /': 'redirects to the documentation',
};

const seller = (ok = 200, data?: () => unknown): Row => ({
  kind: 'seller',
  ok,
  ...(data && { body: () => ({ data: data() }) }),
});
const checkout = (data?: () => unknown): Row => ({ ...seller(200, data), kind: 'checkout' });

/** Every route that needs a key. A row for a new route adds all tests of test/integration/api/authorization.test.ts. */
export const MATRIX: Record<string, Row> = {
  [`POST ${BASE}/seller/:sellerId/order`]: seller(201, () => ({ amount: 1, reference: randomUUID() })),
  [`GET ${BASE}/seller/:sellerId/order`]: seller(),
  [`GET ${BASE}/order/:orderId`]: seller(),
  [`DELETE ${BASE}/order/:orderId`]: seller(),
  [`GET ${BASE}/seller/:sellerId/order/:orderId`]: seller(),
  [`DELETE ${BASE}/seller/:sellerId/order/:orderId`]: seller(),
  [`GET ${BASE}/seller/:sellerId/connection_check`]: seller(),
  [`POST ${BASE}/order/:orderId/progress`]: checkout(() => ({ event: 'failed' })),
  [`POST ${BASE}/order/:orderId/simulate`]: seller(200, () => ({ event: 'failed' })),
  [`GET ${BASE}/pay_link/:payLinkId`]: checkout(),
  [`GET ${BASE}/seller/:sellerId/webhook_event`]: seller(),
  [`GET ${BASE}/order/:orderId/timeline`]: seller(),
  [`GET ${BASE}/webhook_event/:webhookId`]: seller(),
  [`POST ${BASE}/webhook_event/:webhookId/resend`]: seller(202),
  [`POST ${BASE}/seller/:sellerId/webhook_event/resend`]: seller(202, () => ({ state: 'disabled' })),
  [`POST ${BASE}/seller/:sellerId/webhook_secret/rotate`]: seller(),
  [`PUT ${BASE}/seller/:sellerId/webhook_headers`]: seller(200, () => ({
    ...{ origin: 'https://shop.example', headers: [{ name: 'X-Shop', value: 'mine' }] },
  })),
  [`POST ${BASE}/seller/:sellerId/portal_session`]: seller(201),
  [`GET ${BASE}/seller/:sellerId/webhook_endpoint`]: seller(),
  [`PUT ${BASE}/seller/:sellerId/webhook_endpoint`]: seller(200, () => ({ url: 'https://shop.example/hooks' })),
  [`POST ${BASE}/seller/:sellerId/webhook_test`]: seller(200, () => ({ url: 'http://127.0.0.1:9/' })),
};

/** Returns the names of a route's path parameters. */
export function parametersOf(route: string): string[] {
  return [...route.matchAll(/:(\w+)/g)].map(([, name]) => name!);
}
