import Router from '@koa/router';
import type { Db } from '../db/pool';
import { VERSION } from '../version';
import type { State } from './context';

/** Anybody may call the check, so all calls within this time share one query. */
const CACHE_MS = 1000;

/**
 * Health checks for load balancers. They ignore Temporal, because orders can be created and read while it is down.
 * @param isServing false while the process starts or drains
 */
export function healthRoutes(db: Db, isServing: () => boolean): Router<State> {
  const router = new Router<State>({ prefix: '/health', sensitive: true });
  const checkDatabase = shareResult(CACHE_MS, () =>
    db.query('select 1').then(
      () => 'ok',
      () => 'unavailable',
    ),
  );
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

/** Calls `read` at most once within `ms`. */
function shareResult<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    if (!result) {
      result = read();
      setTimeout(() => (result = undefined), ms).unref();
    }
    return result;
  };
}
