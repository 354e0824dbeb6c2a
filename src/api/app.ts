import Koa, { type Middleware } from 'koa';
import type { Logger } from 'pino';
import { type PublicApi, createOpenApiDocument } from '../contracts/openapi/document';
import type { OrderDependencies } from '../orders/dependencies';
import { VERSION } from '../package';
import { createAuthentication } from './authenticate';
import { createBodyReaders } from './input';
import type { State } from './context';
import { GUIDES, docsRoutes } from './docs-routes';
import { type HealthChecks, healthRoutes } from './health-routes';
import { dropAbandoned, limitInFlight } from './in-flight';
import { orderRoutes } from './order-routes';
import { allowAnyOrigin, answerUnrouted } from './paths';
import { renderProblems, signResponses } from './responses';
import type { RateLimits } from './rate-limit';
import { requestTelemetry } from './request-telemetry';
import { webhookRoutes } from './webhook-routes';

/**
 * Requests of a kind that one seller can run at the same time; further ones wait. The kinds: lists; webhook tests, each a
 * workflow; resends, rotations and changes of static headers, which may wait for the lock on a row, with a connection.
 */
const AT_ONCE = 2;

export interface AppOptions {
  api: PublicApi;
  deps: OrderDependencies;
  limits: RateLimits;
  /** Number of our own proxies in front of the API. Each appends the address of its client to X-Forwarded-For. */
  trustedProxies: number;
  maxBodyBytes: number;
  log: Logger;
  /** Name of the header that carries the response signature. Undefined disables signing. */
  responseHmacHeader: string | undefined;
  health: HealthChecks;
  trace?: Middleware | undefined;
  /** The hosted checkout, which handles its own paths. Undefined without HOSTED_CHECKOUT. */
  checkout: Middleware<State> | undefined;
  /** The seller's page, which handles its own paths. */
  portal: Middleware<State> | undefined;
}

export function createApp(options: AppOptions): Koa<State> {
  const { api, deps, limits, trustedProxies, maxBodyBytes, log, responseHmacHeader, health, checkout, trace } = options;
  const app = new Koa<State>({ proxy: trustedProxies > 0, maxIpsCount: trustedProxies });
  // Only a broken connection gets past the problem renderer.
  app.on('error', (error: Error) => log.debug({ err: error }, 'response not sent'));
  if (trace) app.use(trace);
  app.use(requestTelemetry(log));
  app.use(dropAbandoned);
  if (checkout) app.use(checkout);
  if (options.portal) app.use(options.portal);
  if (responseHmacHeader !== undefined) app.use(signResponses(responseHmacHeader));
  app.use(renderProblems(api.publicUrl));
  app.use(allowAnyOrigin);
  app.use(healthRoutes(health).routes());
  const authenticate = createAuthentication(deps.db, limits);
  const document = createOpenApiDocument({ api, rules: deps.rules, maxBodyBytes, version: VERSION, guides: GUIDES });
  const bodies = createBodyReaders(maxBodyBytes);
  const limitLists = limitInFlight(AT_ONCE);
  const limitLocks = limitInFlight(AT_ONCE);
  const limitTests = limitInFlight(AT_ONCE);
  for (const basePath of api.basePaths) {
    app.use(orderRoutes(basePath, deps, authenticate, bodies, limitLists).routes());
    app.use(webhookRoutes(basePath, deps, authenticate, bodies, { limitLists, limitLocks, limitTests }).routes());
  }
  app.use(authenticate('none'));
  app.use(docsRoutes(document).routes());
  app.use(answerUnrouted(api.basePaths));
  return app;
}
