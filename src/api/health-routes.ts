import { setTimeout as delay } from 'node:timers/promises';
import Router from '@koa/router';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { DatabaseHealth } from '../db/write-probe';
import { VERSION } from '../version';
import type { Middleware } from './authenticate';
import { clientNetwork } from './client-network';
import type { State } from './context';

export interface HealthChecks {
  checkDatabase: () => Promise<DatabaseHealth>;
  /** False while the process starts or drains. */
  isServing: () => boolean;
}

/** Checks a second that one address gets at once; further ones wait a second. No load balancer needs as many. */
const CHECKS_PER_SECOND = 100;

/** Health checks for load balancers. They ignore Temporal, because orders can be created and read while it is down. */
export function healthRoutes({ checkDatabase, isServing }: HealthChecks): Router<State> {
  const router = new Router<State>({ prefix: '/health', sensitive: true });
  const limiter = new RateLimiterMemory({ points: CHECKS_PER_SECOND, duration: 1 });
  const slowDown: Middleware = async (ctx, next) => {
    await limiter.consume(clientNetwork(ctx.ip)).catch(() => delay(1000));
    await next();
  };
  router.get('/live', slowDown, (ctx) => {
    ctx.body = { status: 'ok', version: VERSION };
  });
  router.get('/ready', slowDown, async (ctx) => {
    const database = await checkDatabase();
    const status = isServing() ? database : 'not serving';
    ctx.status = status === 'ok' ? 200 : 503;
    ctx.body = { status, database };
  });
  return router;
}
