import Router from '@koa/router';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { DatabaseHealth } from '../db/pool';
import { VERSION } from '../package';
import { clientNetwork, delayAnswer } from './rate-limit';
import type { RouteMiddleware, State } from './context';

export interface HealthChecks {
  checkDatabase: () => Promise<DatabaseHealth>;
  /** False while the process starts or drains. */
  isServing: () => boolean;
}

/** Health checks per second that one address gets without a wait. No load balancer sends as many. */
const CHECKS_PER_SECOND = 100;

/**
 * Health checks for load balancers and roll-outs. They ignore Temporal, because orders can be created and read while it
 * is unavailable.
 */
export function healthRoutes({ checkDatabase, isServing }: HealthChecks): Router<State> {
  const router = new Router<State>({ prefix: '/health', sensitive: true });
  const limiter = new RateLimiterMemory({ points: CHECKS_PER_SECOND, duration: 1 });
  const slowDown: RouteMiddleware = async ({ ip }, next) => {
    const { consumedPoints } = await limiter.penalty(clientNetwork(ip));
    if (consumedPoints > CHECKS_PER_SECOND) await delayAnswer();
    await next();
  };
  router.get('/live', slowDown, (ctx) => {
    ctx.body = { status: 'ok', version: VERSION };
  });
  router.get('/ready', slowDown, async (ctx) => {
    const database = await checkDatabase();
    const status = database === 'ok' && !isServing() ? 'not serving' : database;
    ctx.status = status === 'ok' ? 200 : 503;
    ctx.body = { status, database };
  });
  // Does not check Postgres, which all instances share: an outage would make load balancers remove every instance.
  router.get('/serving', slowDown, (ctx) => {
    const status = isServing() ? 'ok' : 'not serving';
    ctx.status = status === 'ok' ? 200 : 503;
    ctx.body = { status };
  });
  return router;
}
