import { randomBytes } from 'node:crypto';
import type { ParameterizedContext } from 'koa';

const SECRET_LENGTH = 24;
/** The longest that browsers keep a cookie. Customers return for months to read their instalments. */
const MAX_AGE_SECONDS = 400 * 86_400;

/**
 * Identifies a browser by a random secret in a cookie. Scripts and sellers cannot read it.
 * @param name the beginning of the cookie's name
 * @param secure true if the pages are served over https
 */
export function createBrowserCookie(name: string, secure: boolean) {
  // `__Host-` prevents sibling domains from setting the cookie. Browsers accept the prefix over https only.
  const prefix = secure ? `__Host-${name}-` : `${name}-`;
  const attributes = `Path=/; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  const cookies = new RegExp(`(?:^|; )${prefix}[\\w-]+=([\\w-]{${SECRET_LENGTH}})(?=;|$)`, 'g');
  /** The secrets that the browser sent. Two tabs that open at the same time get one each. */
  const secretsOf = (ctx: ParameterizedContext): string[] =>
    [...ctx.get('Cookie').matchAll(cookies)].map(([, secret = '']) => secret);

  return {
    secretsOf,

    /** Returns the browser's secret. Sets or renews the cookie. */
    issue(ctx: ParameterizedContext): string {
      const secret = secretsOf(ctx)[0] ?? randomBytes((SECRET_LENGTH * 3) / 4).toString('base64url');
      // Not `ctx.cookies`: behind a proxy that terminates TLS, Koa sees plain HTTP and refuses `secure`.
      ctx.append('Set-Cookie', `${prefix}${secret.slice(0, 6)}=${secret}; ${attributes}`);
      return secret;
    },
  };
}

export type BrowserCookie = ReturnType<typeof createBrowserCookie>;
