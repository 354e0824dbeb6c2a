import type { Branding } from '../db/branding';
import { formatPence } from '../domain/money';
import type { Order } from '../domain/order';
import { type Html, html } from './html';
import { createStylesheet } from './stylesheet';

/** One page of the checkout. */
export interface Page {
  /** The HTTP status. Default: 200. */
  status?: number;
  title: string;
  content: Html;
  /** The page's step, from 1 to 4. Pages outside the steps have none. */
  step?: number;
  /** An automatic reload or redirect, which needs no script. */
  refresh?: { afterSeconds: number; url: string };
}

/** The order that the layout shows around a page. */
export interface LayoutContext {
  order: Order;
  branding: Branding;
  /** The path of the order's pages: `/pay/<pay_link_id>`, after the path prefix if there is one. */
  path: string;
}

const STEPS = 4;

/**
 * @param notice shown at the top of the page if the order belongs to a sandbox account
 * @returns the document and the source expression that its Content-Security-Policy needs for the stylesheet
 */
export function renderPage(
  page: Page,
  context: LayoutContext | undefined,
  notice: string | undefined,
): { body: string; styleHash: string } {
  const stylesheet = createStylesheet(context?.branding.colour ?? null);
  const title = context ? `${page.title} – ${context.order.sellerName}` : page.title;
  const { text } = html`<!doctype html>
    <html lang="en-GB">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="data:," />
        ${stylesheet.element}
      </head>
      <body>
        ${context?.order.sandbox && notice !== undefined && html`<aside class="notice" aria-label="Notice">${notice}</aside>`}
        <div class="page">
          <div class="card">
            ${context && header(context)}
            <main>${page.step !== undefined && steps(page.step)} ${page.content}</main>
            ${context && page.step !== undefined && footer(context)}
          </div>
        </div>
      </body>
    </html> `;
  return { body: text, styleHash: stylesheet.hash };
}

function header({ order, branding, path }: LayoutContext): Html {
  const { sellerName, amountPence, reference } = order;
  return html`<header>
    <div class="seller">${branding.hasLogo && html`<img src="${path}/logo/" alt="" />`}<span>${sellerName}</span></div>
    <div class="order">
      <p class="amount"><span class="visually-hidden">Amount: </span>${formatPence(amountPence)}</p>
      <p class="reference">Order reference ${reference}</p>
    </div>
  </header>`;
}

function footer({ order, branding }: LayoutContext): Html {
  return html`<footer>
    <p>
      Want to finish later? <a href="${wayBack(order, branding)}">Go back to ${order.sellerName}</a>. You can use the
      same link to continue.
    </p>
  </footer>`;
}

function steps(current: number): Html {
  const all = Array.from({ length: STEPS }, (_, index) => index + 1);
  return html`<div class="steps" aria-hidden="true">
      ${all.map((step) => html`<span class="${step <= current ? 'done' : ''}"></span>`)}
    </div>
    <p class="step">Step ${current} of ${STEPS}</p>`;
}

/** Where customers who have not completed the order go back to. The redirect URL is for completed orders only. */
export function wayBack({ cancelUrl, redirectUrl }: Order, { shopUrl }: Branding): string {
  return cancelUrl ?? shopUrl ?? `${new URL(redirectUrl).origin}/`;
}
