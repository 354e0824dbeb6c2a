import type { RouterContext } from '@koa/router';
import type { Logger } from 'pino';
import type { Caller } from '../db/sellers';

export interface State {
  requestId: string;
  log: Logger;
  /** Set by the authentication. */
  caller?: Caller;
  /** What the caller presented; set with `caller`, never logged. */
  apiKey?: string;
  /** For the log line of the request. */
  orderId?: string;
}

export type Context = RouterContext<State>;
export type Next = () => Promise<unknown>;
