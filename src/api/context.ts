import type { RouterContext } from '@koa/router';
import type { Logger } from 'pino';
import type { Caller } from '../db/sellers';
import type { Page } from '../orders/list-page';

export interface State {
  requestId: string;
  log: Logger;
  /** Set if the request has a valid key. */
  caller?: Caller;
  /** Set if the caller could not be looked up. */
  callerError?: Error;
  /** The caller's key. Set together with `caller`; never logged. */
  apiKey?: string;
  /** Of an order that was found for the caller. Appears in the request's log line. */
  orderId?: string;
  /** The code of the error response. */
  problemCode?: string;
}

export type Context = RouterContext<State>;
export type Next = () => Promise<unknown>;
export type RouteMiddleware = (ctx: Context, next: Next) => Promise<void>;

export function sendListPage<T>(ctx: Context, { items, nextCursor }: Page<T>): void {
  ctx.body = { data: items, next_cursor: nextCursor };
}
