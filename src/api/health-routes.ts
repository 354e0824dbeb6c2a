import Router from '@koa/router';
import type { DatabaseHealth } from '../db/write-probe';
import { VERSION } from '../version';
import type { State } from './context';

export interface HealthChecks {
  checkDatabase: () => Promise<DatabaseHealth>;
  /** False while the process starts or drains. */
  isServing: () => boolean;
}

/** Health checks for load balancers. They ignore Temporal, because orders can be created and read while it is down. */
export function healthRoutes({ checkDatabase, isServing }: HealthChecks): Router<State> {
  const router = new Router<State>({ prefix: '/health', sensitive: true });
  router.get('/live', (ctx) => {
    ctx.body = { status: 'ok', version: VERSION };
  });
  router.get('/ready', async (ctx) => {
    const database = await checkDatabase();
    const status = isServing() ? database : 'not serving';
    ctx.status = status === 'ok' ? 200 : 503;
    ctx.body = { status, database };
  });
  return router;
}
