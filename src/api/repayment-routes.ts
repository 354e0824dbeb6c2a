import Router from '@koa/router';
import { repaymentExampleQuerySchema } from '../contracts/repayment-schemas';
import type { OrderDependencies } from '../orders/dependencies';
import { type QuoteRepayments, retrieveRepaymentExample } from '../orders/repayment-example';
import type { RouteMiddleware, State } from './context';
import { validateQuery } from './input';

/** The example depends on the date. */
const MAX_AGE_S = 300;

/**
 * An example of repayments, for the product and cart pages of a shop: their browsers have no key.
 * @param limit identifies the caller and rate-limits it
 */
export function repaymentRoutes(
  basePath: string,
  deps: Pick<OrderDependencies, 'db' | 'rules'>,
  quote: QuoteRepayments | undefined,
  limit: RouteMiddleware,
): Router<State> {
  const router = new Router<State>({ prefix: basePath, sensitive: true });
  const querySchema = repaymentExampleQuerySchema(deps.rules);
  router.get('/seller/:sellerId/repayment_example', allowAnyOrigin, limit, async (ctx) => {
    const sellerId = (ctx.params.sellerId ?? '').toLowerCase();
    const { amount } = validateQuery(querySchema, ctx.query);
    const data = await retrieveRepaymentExample(deps, quote, sellerId, amount);
    ctx.set('Cache-Control', `public, max-age=${MAX_AGE_S}`);
    ctx.body = { data };
  });
  return router;
}

/** For errors too, such as a 429: a page of the shop reads them. */
const allowAnyOrigin: RouteMiddleware = async (ctx, next) => {
  ctx.set('Access-Control-Allow-Origin', '*');
  await next();
};
