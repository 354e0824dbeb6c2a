import type { ParameterizedContext } from 'koa';
import type { Logger } from 'pino';
import type { LayoutContext } from '../pages/layout';

export interface State {
  log: Logger;
  /** Of the order that was found. Appears in the request's log line. */
  orderId?: string;
  /** Set once the order is loaded. */
  layout?: LayoutContext;
}

export type Context = ParameterizedContext<State>;
