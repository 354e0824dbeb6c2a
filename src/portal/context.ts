import type { RouterContext } from '@koa/router';
import type { Logger } from 'pino';
import type { Html } from '../html/html';
import type { PortalSession } from '../orders/portal-sessions';

export interface State {
  log: Logger;
  requestId: string;
  /** Appears in the request's log line, and is counted by the rate limits. */
  caller?: { kind: 'seller'; seller: PortalSession['seller'] } | { kind: 'checkout' };
  apiKey?: string;
  /** Set once the session is found. */
  visit?: Visit;
}

export type Context = RouterContext<State>;

/** A request of a session. */
export interface Visit {
  session: PortalSession;
  /** The path of the seller's page: `/portal`, after the path prefix if there is one. */
  path: string;
  /** The CSRF token of its forms. */
  token: string;
}

export interface PortalPage {
  /** The HTTP status. Default: 200. */
  status?: number;
  title: string;
  content: Html;
}

/** How a page adds its routes. Paths begin with a slash, below the seller's page. */
export interface Routes {
  page: (path: string, show: (visit: Visit, ctx: Context) => Promise<PortalPage>) => void;
  /** A download, in the place of a page. */
  file: (path: string, send: (visit: Visit, ctx: Context) => Promise<void>) => void;
  /**
   * A form that changes something. Its token is checked, a read-only session is refused, and it is audited as `command`.
   * @param audited the fields that the audit log has: no secrets
   * @param act returns a page, or the path to continue at
   */
  action: (
    path: string,
    command: string,
    audited: readonly string[],
    act: (visit: Visit, fields: Readonly<Record<string, string>>, ctx: Context) => Promise<PortalPage | string>,
  ) => void;
}
