import type { Context } from 'koa';
import type { Page, Frame } from './page';
import { renderPage } from './page';

const FIXED_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex, nofollow',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Cache-Control': 'no-store',
};

/** What every answer of the checkout carries, pictures and redirects too. */
export function protect(ctx: Context, isHttps: boolean): void {
  ctx.set(FIXED_HEADERS);
  ctx.set('Content-Security-Policy', policy("'none'"));
  if (isHttps) ctx.set('Strict-Transport-Security', 'max-age=31536000');
}

/** What the routes leave in a request's state: whose customer it is, once that is known. */
export interface CheckoutState {
  frame?: Frame;
}

/** @param notice said on top of the page */
export function show(ctx: Context, page: Page, notice: string | undefined): void {
  const { body, style } = renderPage(page, (ctx.state as CheckoutState).frame, notice);
  ctx.status = page.status ?? 200;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('Content-Security-Policy', policy(`'${style.hash}'`));
  if (page.refresh) ctx.set('Refresh', `${page.refresh.afterSeconds};url=${page.refresh.url}`);
  ctx.body = body;
}

function policy(styleSource: string): string {
  return (
    `default-src 'none'; style-src ${styleSource}; img-src 'self' data:; form-action 'self'; ` +
    `base-uri 'none'; frame-ancestors 'none'`
  );
}
