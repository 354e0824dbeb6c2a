/** The part of a Koa context that the router sets. */
interface Routed {
  _matchedRoute?: string | RegExp;
}

/**
 * The template of the matched route, such as `/order/:orderId`: never a path, which is unbounded and may hold a pay
 * link.
 */
export function routeOf(ctx: object): string {
  const route = (ctx as Routed)._matchedRoute;
  return typeof route === 'string' ? route : 'none';
}
