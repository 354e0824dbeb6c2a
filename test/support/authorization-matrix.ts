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

const RECEIVER = 'http://127.0.0.1:9/';

/** Every route that needs a key. A row for a new route adds all tests of test/integration/api/authorization.test.ts. */
export const MATRIX: Record<string, Row> = {
  [`POST ${BASE}/seller/:sellerId/order`]: {
    kind: 'seller',
    ok: 201,
    body: () => ({ data: { amount: 1, reference: randomUUID() } }),
  },
  [`GET ${BASE}/seller/:sellerId/order`]: { kind: 'seller', ok: 200 },
  [`GET ${BASE}/order/:orderId`]: { kind: 'seller', ok: 200 },
  [`DELETE ${BASE}/order/:orderId`]: { kind: 'seller', ok: 200 },
  [`GET ${BASE}/seller/:sellerId/order/:orderId`]: { kind: 'seller', ok: 200 },
  [`DELETE ${BASE}/seller/:sellerId/order/:orderId`]: { kind: 'seller', ok: 200 },
  [`GET ${BASE}/seller/:sellerId/connection_check`]: { kind: 'seller', ok: 200 },
  [`POST ${BASE}/order/:orderId/progress`]: {
    kind: 'checkout',
    ok: 200,
    body: () => ({ data: { event: 'failed' } }),
  },
  [`POST ${BASE}/order/:orderId/simulate`]: { kind: 'seller', ok: 200, body: () => ({ data: { event: 'failed' } }) },
  [`GET ${BASE}/pay_link/:payLinkId`]: { kind: 'checkout', ok: 200 },
  [`GET ${BASE}/seller/:sellerId/webhook_event`]: { kind: 'seller', ok: 200 },
  [`GET ${BASE}/order/:orderId/timeline`]: { kind: 'seller', ok: 200 },
  [`GET ${BASE}/webhook_event/:webhookId`]: { kind: 'seller', ok: 200 },
  [`POST ${BASE}/webhook_event/:webhookId/resend`]: { kind: 'seller', ok: 202 },
  [`POST ${BASE}/seller/:sellerId/webhook_event/resend`]: {
    kind: 'seller',
    ok: 202,
    body: () => ({ data: { state: 'disabled' } }),
  },
  [`POST ${BASE}/seller/:sellerId/webhook_secret/rotate`]: { kind: 'seller', ok: 200 },
  [`PUT ${BASE}/seller/:sellerId/webhook_headers`]: {
    kind: 'seller',
    ok: 200,
    body: () => ({ data: { origin: 'https://shop.example', headers: [{ name: 'X-Shop', value: 'mine' }] } }),
  },
  [`POST ${BASE}/seller/:sellerId/portal_session`]: { kind: 'seller', ok: 201 },
  [`GET ${BASE}/seller/:sellerId/webhook_endpoint`]: { kind: 'seller', ok: 200 },
  [`PUT ${BASE}/seller/:sellerId/webhook_endpoint`]: {
    kind: 'seller',
    ok: 200,
    body: () => ({ data: { url: 'https://shop.example/hooks' } }),
  },
  [`POST ${BASE}/seller/:sellerId/webhook_test`]: {
    kind: 'seller',
    ok: 200,
    body: () => ({ data: { url: RECEIVER } }),
  },
};

/** Returns the names of a route's path parameters. */
export function parametersOf(route: string): string[] {
  return [...route.matchAll(/:(\w+)/g)].map(([, name]) => name!);
}
