import type { Middleware } from 'koa';
import { Problem } from '../contracts/problem';
import { isUuid } from '../domain/text';
import type { Context, State } from './context';

/** What a template or an empty variable leaves in a path: `{order_id}`, `<order_id>`, `:order_id`, `$ORDER_ID`, `null`. */
const PLACEHOLDER =
  /^(?:\{+[\w -]{1,40}\}+|<[\w -]{1,40}>|\[[\w -]{1,40}\]|:[a-z_]{1,40}|\$\{?\w{1,40}\}?|%\w{1,40}%|undefined|null|nil|none|nan)$/i;

export const isPlaceholder = (text: string): boolean => PLACEHOLDER.test(text);

const IDS = {
  orderId: ['order', 'the `id` in the response that created the order'],
  webhookId: ['webhook', 'the header `webhook-id` of the webhook'],
  payLinkId: ['pay link', 'the UUID in `order_url`'],
} as const;

/**
 * An id of the path, in lower case.
 * @throws Problem `not_found` if it is not a UUID
 */
export function idOf(ctx: Context, parameter: keyof typeof IDS): string {
  const id = ctx.params[parameter] ?? '';
  const [what, source] = IDS[parameter];
  if (!isUuid(id)) throw notAnId(id, what, source);
  return id.toLowerCase();
}

export function notAnId(id: string, what: string, use: string): Problem {
  const mistake = isPlaceholder(id) ? `is the placeholder ${id}` : 'is not a UUID';
  return new Problem('not_found', `The ${what} ID in the path ${mistake}. Use ${use}.`);
}

const PUBLIC_PATH = /\/seller\/[^/]+\/repayment_example\/?$/;
const PREFLIGHT_AGE_S = '86400';

/**
 * Browsers of the shop's customers read the example of repayments, and each of its errors. They have no key. What adds
 * headers to the page's requests, such as tracing, has the browser ask for permission first.
 */
export const allowAnyOrigin: Middleware<State> = (ctx, next) => {
  if (PUBLIC_PATH.test(ctx.path)) {
    ctx.set('Access-Control-Allow-Origin', '*');
    if (ctx.method === 'OPTIONS') {
      ctx.set('Access-Control-Allow-Methods', 'GET, HEAD');
      ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers'));
      ctx.set('Access-Control-Max-Age', PREFLIGHT_AGE_S);
    }
  }
  return next();
};

/**
 * Answers a request that no route has: OPTIONS with a 204, and another method that its path does not support with a 405,
 * both with `Allow`. The error of an unknown path does not repeat it, because it may contain a pay link.
 */
export function answerUnrouted(basePaths: readonly string[]): Middleware<State> {
  return (ctx) => {
    const { matched = [] } = ctx as Partial<Pick<Context, 'matched'>>;
    const allow = [...new Set(matched.flatMap(({ methods }) => methods))].sort().join(', ');
    if (allow === '')
      throw new Problem('not_found', `No resource exists at this path. ${hintFor(ctx.path, basePaths)}`);
    if (ctx.method !== 'OPTIONS')
      throw new Problem('method_not_allowed', `This path supports ${allow}.`, { headers: { Allow: allow } });
    ctx.set('Allow', allow);
    ctx.status = 204;
  };
}

function hintFor(path: string, basePaths: readonly string[]): string {
  const [basePath = ''] = basePaths;
  if (path.includes('//')) return 'It contains //: an ID is empty.';
  if (/\/cancel\/?$/.test(path)) return `To cancel an order, send DELETE to ${basePath}/order/<order_id>/.`;
  return basePaths.some((one) => path.startsWith(`${one}/`))
    ? 'The API reference at /docs/ lists all paths.'
    : `The paths of the API begin with ${basePath}/, and the API reference at /docs/ lists them.`;
}
