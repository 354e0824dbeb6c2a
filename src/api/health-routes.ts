import Router from '@koa/router';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { DatabaseHealth } from '../db/pool';
import { VERSION } from '../package';
import { clientNetwork, delayAnswer } from './rate-limit';
import type { Context, Next, State } from './context';
import { CLIENT_GONE } from './in-flight';

export interface HealthChecks {
  checkDatabase: () => Promise<DatabaseHealth>;
  /** False while the process starts or drains. */
  isServing: () => boolean;
}

/**
 * Health checks per second that one address gets without a wait. Up to twice as many wait for a second; beyond that,
 * connections are closed. No load balancer sends as many.
 */
const CHECKS_PER_SECOND = 100;

/**
 * Health checks for load balancers and roll-outs. They ignore Temporal, because orders can be created and read while it
 * is unavailable.
 * @returns also the middleware that slows down an address with many requests
 */
export function healthRoutes({ checkDatabase, isServing }: HealthChecks) {
  const router = new Router<State>({ prefix: '/health', sensitive: true });
  const limiter = new RateLimiterMemory({ points: CHECKS_PER_SECOND, duration: 1 });
  const slowDown = async (ctx: Pick<Context, 'ip' | 'socket' | 'status'>, next: Next): Promise<void> => {
    const { consumedPoints } = await limiter.penalty(clientNetwork(ctx.ip));
    if (consumedPoints > 2 * CHECKS_PER_SECOND) {
      ctx.socket.destroy();
      ctx.status = CLIENT_GONE;
      return;
    }
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
  return { router, slowDown };
}
