import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';

/** The form was not rendered for this browser and pay link, or it comes from another site. */
export class CsrfError extends Error {}

export const TOKEN_FIELD = 'form_token';
/** Old browsers and other clients send no header; `none` is a reload by the customer. */
const SAME_SITE = ['', 'same-origin', 'none'];
const NONCE_LENGTH = 24;

/** Protects the forms with tokens that are bound to the browser, by a cookie, and to the pay link. */
export interface Csrf {
  /** Creates the token for a form. Sets the cookie if the browser has none. */
  createToken(ctx: Context, payLinkId: string): Promise<string>;
  /** @throws CsrfError */
  verify(ctx: Context, payLinkId: string, token: string): Promise<void>;
}

/**
 * @param readSecret reads the signing secret that all API processes share
 * @param baseUrl the public address of the pages
 */
export function createCsrf(readSecret: () => Promise<string>, baseUrl: string): Csrf {
  const { origin, protocol } = new URL(baseUrl);
  const secure = protocol === 'https:';
  // `__Host-` prevents sibling domains from setting the cookie. Browsers accept the prefix over https only.
  const prefix = secure ? '__Host-checkout-' : 'checkout-';
  const cookies = new RegExp(`(?:^|; )${prefix}[\\w-]+=([\\w-]{${NONCE_LENGTH}})(?=;|$)`, 'g');
  /** Two tabs that open at the same time get a cookie each, and the forms of both must work. */
  const noncesOf = (ctx: Context): string[] => [...ctx.get('Cookie').matchAll(cookies)].map(([, nonce = '']) => nonce);
  const sign = async (nonce: string, payLinkId: string): Promise<string> =>
    createHmac('sha256', await readSecret())
      .update(`${nonce}.${payLinkId.toLowerCase()}`)
      .digest('base64url');

  return {
    async createToken(ctx, payLinkId) {
      const [existing] = noncesOf(ctx);
      const nonce = existing ?? randomBytes((NONCE_LENGTH * 3) / 4).toString('base64url');
      // Not `ctx.cookies`: behind a proxy that terminates TLS, Koa sees plain HTTP and refuses `secure`.
      if (existing === undefined) {
        const name = prefix + nonce.slice(0, 6);
        ctx.append('Set-Cookie', `${name}=${nonce}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`);
      }
      return sign(nonce, payLinkId);
    },
    async verify(ctx, payLinkId, token) {
      const given = Buffer.from(token);
      const expected = await Promise.all(noncesOf(ctx).map(async (nonce) => Buffer.from(await sign(nonce, payLinkId))));
      const isValid = expected.some((one) => one.length === given.length && timingSafeEqual(one, given));
      if (!isValid || isCrossSite(ctx, origin)) throw new CsrfError();
    },
  };
}

/**
 * Under `Referrer-Policy: no-referrer` browsers send `Origin: null` with our own forms too. `Sec-Fetch-Site`, which pages
 * cannot forge, distinguishes them from forms of other sites.
 */
function isCrossSite(ctx: Context, ownOrigin: string): boolean {
  return !['', 'null', ownOrigin].includes(ctx.get('Origin')) || !SAME_SITE.includes(ctx.get('Sec-Fetch-Site'));
}
