import { html } from '../html';
import type { Page } from '../page';

interface Trouble {
  status: number;
  title: string;
  sentence: string;
}

export const UNKNOWN_LINK: Trouble = {
  status: 404,
  title: 'There is no order at this link',
  sentence: 'Please check that it is complete, or go back to the shop that sent you here and start again.',
};
export const NO_PAGE: Trouble = { ...UNKNOWN_LINK, title: 'There is no such page' };
export const NOT_ALLOWED: Trouble = {
  status: 405,
  title: 'This page cannot be used like that',
  sentence: 'Please go back to the page before.',
};
export const FOREIGN_FORM: Trouble = {
  status: 403,
  title: 'We could not take this form',
  sentence:
    'It was not sent from a page that we made for this browser, so nothing was changed. Please open your order again; your browser must accept a cookie from this site.',
};
export const TOO_LARGE: Trouble = {
  status: 413,
  title: 'We could not take this form',
  sentence: 'It was longer than any answer needs to be. Nothing was changed; please try again.',
};
export const UNREADABLE: Trouble = {
  ...TOO_LARGE,
  status: 400,
  sentence: 'It could not be read. Nothing was changed.',
};
export const TOO_MANY: Trouble = {
  status: 429,
  title: 'A moment, please',
  sentence: 'This link was opened very often in a short time. Nothing was changed; please try again in a minute.',
};
export const UNAVAILABLE: Trouble = {
  status: 503,
  title: 'We cannot go on just now',
  sentence: 'Part of our service is not answering. Nothing is lost, and it is safe to try again in a minute.',
};
export const BROKEN: Trouble = {
  status: 500,
  title: 'Something went wrong on our side',
  sentence: 'Your order is kept. Please try again in a minute, or ask the shop that sent you here.',
};

/** @param path of the order's page; undefined where there is no order to go back to */
export function troublePage({ status, title, sentence }: Trouble, path?: string): Page {
  return {
    status,
    title,
    content: html`<h1>${title}</h1>
      <p>${sentence}</p>
      ${path !== undefined && html`<a class="button" href="${path}/">Open the order again</a>`}`,
  };
}
export type { Trouble };
