import { html } from '../../html/html';
import type { Page } from './layout';

export interface ErrorPage {
  status: number;
  title: string;
  text: string;
}

const page = (status: number, title: string, text: string): ErrorPage => ({ status, title, text });

const INCOMPLETE_LINK = 'The link may be incomplete. Open it again from the shop, or place a new order there.';
const NOT_PROCESSED = 'We could not process this form';

export const ORDER_NOT_FOUND = page(404, 'Order not found', INCOMPLETE_LINK);
export const PAGE_NOT_FOUND = page(404, 'Page not found', INCOMPLETE_LINK);
export const METHOD_NOT_ALLOWED = page(
  405,
  'This request is not supported',
  'Go back to the previous page and try again.',
);
export const SESSION_EXPIRED = page(
  403,
  'Your session has expired',
  'Reload to continue. If this happens again, allow cookies from this site.',
);
export const FORM_TOO_LARGE = page(
  413,
  NOT_PROCESSED,
  'Your answers are too long. Go back, shorten them and try again.',
);
export const FORM_UNREADABLE = page(
  400,
  NOT_PROCESSED,
  'Go back to the previous page and try again. Nothing was sent.',
);
export const TOO_MANY_REQUESTS = page(
  429,
  'Too many requests',
  'There were too many requests in a short time. Try again in a minute. Nothing is lost.',
);
export const SERVICE_UNAVAILABLE = page(
  503,
  'The service is temporarily unavailable',
  'Part of our service is not responding. Nothing is lost. Try again in a minute.',
);
export const NO_PROVIDER = page(
  503,
  'This shop cannot take payments here yet',
  'This checkout is not ready for your order. You have not been charged. Contact the shop that sent you here.',
);
export const BANK_UNAVAILABLE = page(
  503,
  'The bank is not responding',
  'We cannot check your payment at the moment. If you approved it, do not pay again. Otherwise, try again in a minute.',
);
export const INTERNAL_ERROR = page(
  500,
  'Something went wrong on our side',
  'Try again in a minute, or contact the shop that sent you here.',
);

/** @param path of the order's pages; undefined if the order is not known */
export function errorPage({ status, title, text }: ErrorPage, path?: string): Page {
  return {
    status,
    title,
    content: html`<h1>${title}</h1>
      <p>${text}</p>
      ${path !== undefined && html`<a class="button" href="${path}/">Reload</a>`}`,
  };
}
