import Router from '@koa/router';
import type { Db } from '../db/pool';
import { VERSION } from '../version';
import type { State } from './context';

/**
 * Health checks for load balancers. They ignore Temporal, because orders can be created and read while it is down.
 * @param isServing false while the process starts or drains
 */
export function healthRoutes(db: Db, isServing: () => boolean): Router<State> {
  const router = new Router<State>({ prefix: '/health' });
  router.get('/live', (ctx) => {
    ctx.body = { status: 'ok', version: VERSION };
  });
  router.get('/ready', async (ctx) => {
    const database = await db.query('select 1').then(
      () => 'ok',
      () => 'unavailable',
    );
    const status = isServing() ? database : 'not serving';
    ctx.status = status === 'ok' ? 200 : 503;
    ctx.body = { status, database };
  });
  return router;
}
