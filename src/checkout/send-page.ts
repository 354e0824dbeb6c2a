import type { Context } from './context';
import { type Page, renderPage } from './layout';

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

/** Sets the headers of every checkout response, including images and redirects. */
export function setSecurityHeaders(ctx: Context, isHttps: boolean): void {
  ctx.set(FIXED_HEADERS);
  ctx.set('Content-Security-Policy', contentSecurityPolicy("'none'"));
  if (isHttps) ctx.set('Strict-Transport-Security', 'max-age=31536000');
}

export function sendPage(ctx: Context, page: Page): void {
  const { body, styleHash } = renderPage(page, ctx.state.layout);
  ctx.status = page.status ?? 200;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('Content-Security-Policy', contentSecurityPolicy(`'${styleHash}'`));
  if (page.refresh) ctx.set('Refresh', `${page.refresh.afterSeconds};url=${page.refresh.url}`);
  ctx.body = body;
}

function contentSecurityPolicy(styleSource: string): string {
  return (
    `default-src 'none'; style-src ${styleSource}; img-src 'self' data:; form-action 'self'; ` +
    `base-uri 'none'; frame-ancestors 'none'`
  );
}
