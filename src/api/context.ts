import type { RouterContext } from '@koa/router';
import type { Logger } from 'pino';
import type { Caller } from '../db/sellers';

export interface State {
  requestId: string;
  log: Logger;
  caller?: Caller;
  /** The caller's key. Set together with `caller`; never logged. */
  apiKey?: string;
  /** Appears in the request's log line. */
  orderId?: string;
  problemCode?: string;
}

export type Context = RouterContext<State>;
export type Next = () => Promise<unknown>;
export type RouteMiddleware = (ctx: Context, next: Next) => Promise<void>;
