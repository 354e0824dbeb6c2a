import type { Router } from '@koa/router';
import type Koa from 'koa';
import { createApp, type AppOptions } from '../../src/api/app';
import { type CheckoutOptions, createCheckout } from '../../src/checkout/http/checkout';
import { createPortal } from '../../src/portal/portal';
import { BASE } from './api';
import { log } from './stack';

/** Lists every route that the API's routers serve, as `GET /path/:parameter`. */
export function apiRoutes(): string[] {
  const rules = { maxAmountPence: 1, httpsOnly: false, checkWebhookUrl: () => undefined };
  const limits = { countAddress: () => Promise.resolve() };
  const options = {
    api: { basePaths: [BASE] },
    deps: { rules },
    limits,
    trustedProxies: 0,
    log,
    health: { checkDatabase: () => Promise.resolve('ok'), isServing: () => true },
  };
  const { middleware } = createApp(options as unknown as AppOptions) as Koa;
  const routes = middleware
    .flatMap((one) => (one as { router?: Router }).router?.stack ?? [])
    .flatMap(routesOf)
    .filter((route) => !route.startsWith('HEAD '));
  // A route can have two handlers.
  return [...new Set(routes)];
}

const routesOf = ({ path, methods }: Router['stack'][number]): string[] =>
  methods.map((method) => `${method} ${String(path)}`);

/** Lists every route of the hosted checkout, as `apiRoutes`, with those of HEAD. */
export function checkoutRoutes(): string[] {
  const deps = { checkoutBaseUrl: 'https://pay.example' };
  const options = {
    deps,
    limits: {},
    settings: {},
    sandboxBank: { banks: [] },
    mails: { sandbox: {} },
  } as unknown as CheckoutOptions;
  return createCheckout(options).router.stack.flatMap(routesOf);
}

/** Lists every route of the seller's page, as `apiRoutes`. */
export function portalRoutes(): string[] {
  const deps = { portalUrl: 'https://orders.example/portal', rules: { checkWebhookUrl: () => undefined } };
  const { router } = createPortal({ deps } as unknown as Parameters<typeof createPortal>[0]);
  return router.stack.flatMap(routesOf).filter((route) => !route.startsWith('HEAD '));
}
