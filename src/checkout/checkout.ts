import type { Context, Middleware, Next } from 'koa';
import type { Logger } from 'pino';
import { Problem } from '../contracts/problem';
import { findCheckoutSecret } from '../db/applications';
import { isDatabaseUnavailable } from '../db/database-errors';
import type { OrderDependencies } from '../orders/dependencies';
import { UnreadableForm } from './body';
import { ForeignForm, createCsrf } from './csrf';
import type { Trouble } from './pages/trouble';
import * as trouble from './pages/trouble';
import { checkoutRoutes } from './routes';
import type { CheckoutState } from './show';
import { protect, show } from './show';

export interface CheckoutOptions {
  deps: OrderDependencies;
  limits: {
    countAddress: (ctx: Context, next: Next) => Promise<void>;
    countPayLink: (ctx: Context, payLinkId: string) => Promise<void>;
  };
  /** Said on top of every page, such as that nothing here is real. */
  notice: string | undefined;
  retentionMs: number;
}

const OURS = /^\/pay(\/|$)/;

/** The hosted checkout: answers everything under `/pay/`, errors too, as pages for people. */
export function createCheckout({ deps, limits, notice, retentionMs }: CheckoutOptions): Middleware {
  const { pathname, protocol } = new URL(deps.checkoutBaseUrl);
  const csrf = createCsrf(
    onceRead(() => findCheckoutSecret(deps.db)),
    deps.checkoutBaseUrl,
  );
  const pathPrefix = pathname.replace(/\/$/, '');
  const router = checkoutRoutes({ deps, csrf, pathPrefix, countPayLink: limits.countPayLink, notice, retentionMs });
  const routes = router.routes() as unknown as Middleware;

  return async (ctx, next) => {
    if (!OURS.test(ctx.path)) {
      await next();
      return;
    }
    protect(ctx, protocol === 'https:');
    try {
      await limits.countAddress(ctx, async () => {
        await routes(ctx, () => {
          const allowed = router.match(ctx.path, ctx.method).path.flatMap(({ methods }) => methods);
          throw allowed.length > 0 ? new WrongMethod(allowed) : new WrongPath();
        });
      });
    } catch (error) {
      const met = troubleOf(error);
      const log = ctx.state.log as Logger;
      if (met.status >= 500)
        log.error({ err: error instanceof Problem ? (error.cause ?? error) : error }, 'page failed');
      if (error instanceof Problem) ctx.set(error.headers);
      if (error instanceof WrongMethod) ctx.set('Allow', error.allowed.join(', '));
      show(ctx, trouble.troublePage(met, (ctx.state as CheckoutState).frame?.path), notice);
    }
  };
}

/** What was read well is kept; a failure is not. */
function onceRead(read: () => Promise<string>): () => Promise<string> {
  let known: string | undefined;
  return async () => (known ??= await read());
}

class WrongPath extends Error {}
class WrongMethod extends Error {
  constructor(readonly allowed: readonly string[]) {
    super();
  }
}

function troubleOf(error: unknown): Trouble {
  if (error instanceof WrongPath) return trouble.NO_PAGE;
  if (error instanceof WrongMethod) return trouble.NOT_ALLOWED;
  if (error instanceof ForeignForm) return trouble.FOREIGN_FORM;
  if (error instanceof UnreadableForm) return error.isTooLarge ? trouble.TOO_LARGE : trouble.UNREADABLE;
  if (isDatabaseUnavailable(error)) return trouble.UNAVAILABLE;
  const code = error instanceof Problem ? error.code : undefined;
  if (code === 'not_found') return trouble.UNKNOWN_LINK;
  if (code === 'rate_limited') return trouble.TOO_MANY;
  return code === 'service_unavailable' ? trouble.UNAVAILABLE : trouble.BROKEN;
}
