import type { ParameterizedContext } from 'koa';

/** A rendered document. */
interface HtmlPage {
  /** The HTTP status. Default: 200. */
  status?: number | undefined;
  body: string;
  /** The source expression of the stylesheet, for the Content-Security-Policy. */
  styleHash: string;
  /** An automatic reload or redirect, which needs no script. */
  refresh?: { afterSeconds: number; url: string } | undefined;
}

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

/** Sets the headers of every response beside pages, including images and redirects. */
export function setSecurityHeaders(ctx: ParameterizedContext, isHttps: boolean): void {
  ctx.set(FIXED_HEADERS);
  ctx.set('Content-Security-Policy', contentSecurityPolicy("'none'"));
  if (isHttps) ctx.set('Strict-Transport-Security', 'max-age=31536000');
}

export function sendHtml(ctx: ParameterizedContext, { status = 200, body, styleHash, refresh }: HtmlPage): void {
  ctx.status = status;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('Content-Security-Policy', contentSecurityPolicy(`'${styleHash}'`));
  if (refresh) ctx.set('Refresh', `${refresh.afterSeconds};url=${refresh.url}`);
  ctx.body = body;
}

function contentSecurityPolicy(styleSource: string): string {
  return (
    `default-src 'none'; style-src ${styleSource}; img-src 'self' data:; form-action 'self'; ` +
    `base-uri 'none'; frame-ancestors 'none'`
  );
}
