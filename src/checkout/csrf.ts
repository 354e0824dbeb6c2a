import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';

/** A form that no page of ours made for this browser and link, or one from another site. */
export class ForeignForm extends Error {}

export const TOKEN_FIELD = 'form_token';
/** Absent from what is no browser and from old ones; `none` is a reload by the customer. */
const OWN_SITE = ['', 'same-origin', 'none'];
const NONCE_LENGTH = 24;

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
  // With the prefix no neighbouring host can set one; browsers take that over https only.
  const prefix = secure ? '__Host-checkout-' : 'checkout-';
  const cookies = new RegExp(`(?:^|; )${prefix}[\\w-]+=([\\w-]{${NONCE_LENGTH}})(?=;|$)`, 'g');
  /** Two tabs that are opened at once are given one each, and the forms of both must go through. */
  const noncesOf = (ctx: Context): string[] => [...ctx.get('Cookie').matchAll(cookies)].map(([, nonce = '']) => nonce);
  const sign = async (nonce: string, payLinkId: string): Promise<string> =>
    createHmac('sha256', await secret())
      .update(`${nonce}.${payLinkId.toLowerCase()}`)
      .digest('base64url');

  return {
    async tokenFor(ctx, payLinkId) {
      const [known] = noncesOf(ctx);
      const nonce = known ?? randomBytes((NONCE_LENGTH * 3) / 4).toString('base64url');
      // By hand: behind a proxy that ends TLS Koa takes the connection for plain and refuses `secure`.
      if (known === undefined) {
        const name = prefix + nonce.slice(0, 6);
        ctx.append('Set-Cookie', `${name}=${nonce}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`);
      }
      return sign(nonce, payLinkId);
    },
    async check(ctx, payLinkId, token) {
      const tokens = await Promise.all(noncesOf(ctx).map((nonce) => sign(nonce, payLinkId)));
      if (!tokens.some((own) => isSame(token, own)) || isCrossSite(ctx, origin)) throw new ForeignForm();
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
