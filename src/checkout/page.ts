import type { Order } from '../domain/order';
import { formatPence } from '../domain/money';
import type { Branding } from '../db/branding';
import type { Html } from './html';
import { html } from './html';
import type { Style } from './style';
import { styleFor } from './style';
import { shopOf } from './words';

/** One page of the checkout. */
export interface Page {
  /** 200 unless said. */
  status?: number;
  title: string;
  content: Html;
  /** Which of the four steps it belongs to. */
  step?: number;
  /** What the browser does by itself, without a script. */
  refresh?: { afterSeconds: number; url: string };
}

/** What stands around a page: whose customer it is, and what the order is. */
export interface Frame {
  order: Order;
  branding: Branding;
  /** Where the customer's pages are: `/pay/<pay_link_id>`. */
  path: string;
}

const STEPS = 4;
const OWN_BRANDING: Branding = { shopUrl: null, colour: null, hasLogo: false };

/** @param notice said on top of every page; undefined for none */
export function renderPage(
  page: Page,
  frame: Frame | undefined,
  notice: string | undefined,
): { body: string; style: Style } {
  const style = styleFor((frame?.branding ?? OWN_BRANDING).colour);
  const title = frame ? `${page.title} – ${frame.order.sellerName}` : page.title;
  const { text } = html`<!doctype html>
    <html lang="en-GB">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="data:," />
        ${style.element}
      </head>
      <body>
        ${notice !== undefined && html`<aside class="notice" aria-label="Notice">${notice}</aside>`}
        <div class="page">
          <div class="card">
            ${frame && header(frame)}
            <main>${page.step !== undefined && steps(page.step)} ${page.content}</main>
            ${frame && page.step !== undefined && wayOut(frame)}
          </div>
        </div>
      </body>
    </html> `;
  return { body: text, style };
}

function header({ order, branding, path }: Frame): Html {
  const { sellerName, amountPence, reference } = order;
  return html`<header>
    <div class="seller">${branding.hasLogo && html`<img src="${path}/logo/" alt="" />`}<span>${sellerName}</span></div>
    <div class="order">
      <p class="amount"><span class="hidden">Amount: </span>${formatPence(amountPence)}</p>
      <p class="reference">Order reference ${reference}</p>
    </div>
  </header>`;
}

/** On the way nobody is held: the order stays open. */
function wayOut({ order, branding }: Frame): Html {
  return html`<footer>
    <p>Not now? Go <a href="${shopOf(order, branding)}">back to ${order.sellerName}</a>. This link leads here again.</p>
  </footer>`;
}

function steps(current: number): Html {
  const all = Array.from({ length: STEPS }, (_, index) => index + 1);
  return html`<div class="steps" aria-hidden="true">
      ${all.map((step) => html`<span class="${step <= current ? 'done' : ''}"></span>`)}
    </div>
    <p class="step">Step ${current} of ${STEPS}</p>`;
}
