import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';

/** A form that no page of ours made for this browser and link, or one from another site. */
export class ForeignForm extends Error {}

export const TOKEN_FIELD = 'form_token';
/** Absent from what is no browser and from old ones; `none` is a reload by the customer. */
const OWN_SITE = ['', 'same-origin', 'none'];
const NONCE = /^[\w-]{24}$/;

/** Guards the forms: their token is bound to the browser, by a cookie, and to the pay link. */
export interface Csrf {
  /** The token for a form; gives the browser its cookie where it has none. */
  tokenFor(ctx: Context, payLinkId: string): Promise<string>;
  /** @throws ForeignForm */
  check(ctx: Context, payLinkId: string, token: string): Promise<void>;
}

/**
 * @param secret the one that all API processes share
 * @param baseUrl where customers reach the pages
 */
export function createCsrf(secret: () => Promise<string>, baseUrl: string): Csrf {
  const { origin, protocol } = new URL(baseUrl);
  const secure = protocol === 'https:';
  // With the prefix no neighbouring host can set it; browsers take that over https only.
  const cookie = secure ? '__Host-checkout' : 'checkout';
  const cookieOf = (ctx: Context): string | undefined => {
    const value = ctx.cookies.get(cookie);
    return value !== undefined && NONCE.test(value) ? value : undefined;
  };
  const sign = async (nonce: string, payLinkId: string): Promise<string> =>
    createHmac('sha256', await secret())
      .update(`${nonce}.${payLinkId.toLowerCase()}`)
      .digest('base64url');

  return {
    async tokenFor(ctx, payLinkId) {
      const known = cookieOf(ctx);
      const nonce = known ?? randomBytes(18).toString('base64url');
      // By hand: behind a proxy that ends TLS Koa takes the connection for plain and refuses `secure`.
      if (known === undefined) {
        ctx.append('Set-Cookie', `${cookie}=${nonce}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`);
      }
      return sign(nonce, payLinkId);
    },
    async check(ctx, payLinkId, token) {
      const nonce = cookieOf(ctx);
      const isOwn = nonce !== undefined && isSame(token, await sign(nonce, payLinkId));
      if (!isOwn || isCrossSite(ctx, origin)) throw new ForeignForm();
    },
  };
}

/**
 * Under `Referrer-Policy: no-referrer` browsers send `Origin: null` with a form of our own too; Sec-Fetch-Site, which no
 * page can forge, tells those from others.
 */
function isCrossSite(ctx: Context, ownOrigin: string): boolean {
  return !['', 'null', ownOrigin].includes(ctx.get('Origin')) || !OWN_SITE.includes(ctx.get('Sec-Fetch-Site'));
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
