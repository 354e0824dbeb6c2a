import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from './context';
import type { BrowserCookie } from './browser-cookie';

/** The form was not rendered for this browser and pay link, or it comes from another site. */
export class CsrfError extends Error {}

export const TOKEN_FIELD = 'form_token';
/** Old browsers and other clients send no header; `none` is a reload by the customer. */
const SAME_SITE = ['', 'same-origin', 'none'];

/** Protects the forms with tokens that are bound to the browser, by its cookie, and to the pay link. */
export interface Csrf {
  /** Creates the token for a form. Sets or renews the cookie. */
  createToken(ctx: Context, payLinkId: string): Promise<string>;
  /**
   * @returns the secret of the browser that the form was rendered for
   * @throws CsrfError
   */
  verify(ctx: Context, payLinkId: string, token: string): Promise<string>;
}

/**
 * @param readSecret reads the checkout secret that all API processes share
 * @param ownOrigin the public origin of the pages
 */
export function createCsrf(readSecret: () => Promise<string>, browsers: BrowserCookie, ownOrigin: string): Csrf {
  const sign = async (browserSecret: string, payLinkId: string): Promise<string> =>
    createHmac('sha256', await readSecret())
      .update(`${browserSecret}.${payLinkId.toLowerCase()}`)
      .digest('base64url');

  return {
    createToken: (ctx, payLinkId) => sign(browsers.issue(ctx), payLinkId),
    async verify(ctx, payLinkId, token) {
      const given = Buffer.from(token);
      for (const browserSecret of isCrossSite(ctx, ownOrigin) ? [] : browsers.secretsOf(ctx)) {
        const expected = Buffer.from(await sign(browserSecret, payLinkId));
        if (expected.length === given.length && timingSafeEqual(expected, given)) return browserSecret;
      }
      throw new CsrfError();
    },
  };
}

/**
 * Under `Referrer-Policy: no-referrer` browsers send `Origin: null` with our own forms too. `Sec-Fetch-Site`, which
 * pages cannot forge, distinguishes them from forms of other sites.
 */
function isCrossSite(ctx: Context, ownOrigin: string): boolean {
  return !['', 'null', ownOrigin].includes(ctx.get('Origin')) || !SAME_SITE.includes(ctx.get('Sec-Fetch-Site'));
}
