import { html } from '../../html/html';
import type { Page } from './layout';

export interface ErrorPage {
  status: number;
  title: string;
  text: string;
}

export const ORDER_NOT_FOUND: ErrorPage = {
  status: 404,
  title: 'Order not found',
  text: 'The link may be incomplete. Open it again from the shop, or place a new order there.',
};
export const PAGE_NOT_FOUND: ErrorPage = { ...ORDER_NOT_FOUND, title: 'Page not found' };
export const METHOD_NOT_ALLOWED: ErrorPage = {
  status: 405,
  title: 'This request is not supported',
  text: 'Go back to the previous page and try again.',
};
export const SESSION_EXPIRED: ErrorPage = {
  status: 403,
  title: 'Your session has expired',
  text: 'Reload to continue. If this happens again, allow cookies from this site.',
};
export const FORM_TOO_LARGE: ErrorPage = {
  status: 413,
  title: 'We could not process this form',
  text: 'Your answers are too long. Go back, shorten them and try again.',
};
export const FORM_UNREADABLE: ErrorPage = {
  status: 400,
  title: 'We could not process this form',
  text: 'Go back to the previous page and try again. Nothing was sent.',
};
export const HEADERS_TOO_LARGE: ErrorPage = {
  status: 431,
  title: 'Your browser sends too many cookies',
  text:
    'Delete the cookies of this site and open the link again, or open it in a private window or in another browser. ' +
    'Nothing is lost.',
};
export const TOO_MANY_REQUESTS: ErrorPage = {
  status: 429,
  title: 'Too many requests',
  text: 'There were too many requests in a short time. Try again in a minute. Nothing is lost.',
};
export const SERVICE_UNAVAILABLE: ErrorPage = {
  status: 503,
  title: 'The service is temporarily unavailable',
  text: 'Part of our service is not responding. Nothing is lost. Try again in a minute.',
};
export const NO_PROVIDER: ErrorPage = {
  status: 503,
  title: 'This shop cannot take payments here yet',
  text: 'This checkout is not ready for your order. You have not been charged. Contact the shop that sent you here.',
};
export const BANK_UNAVAILABLE: ErrorPage = {
  status: 503,
  title: 'The bank is not responding',
  text: 'We cannot check your payment at the moment. If you approved it, do not pay again. Otherwise, try again in a minute.',
};
export const INTERNAL_ERROR: ErrorPage = {
  status: 500,
  title: 'Something went wrong on our side',
  text: 'Try again in a minute, or contact the shop that sent you here.',
};

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
