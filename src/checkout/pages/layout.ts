import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Branding } from '../db/branding';
import { formatPence } from '../../domain/money';
import { type Order, type PaymentTerm, isFinal } from '../../domain/order';
import { formatDeadline } from './format';
import { type Html, html } from '../../html/html';
import type { ProviderDetails } from './provider-details';
import { brandColours, createStylesheet } from '../../html/stylesheet';

const CSS = readFileSync(path.join(__dirname, 'checkout.css'), 'utf8');

export type Step = 'Payment method' | 'Your application' | 'Your agreement' | 'Your bank' | 'Your payment';

/** The place of each step if the customer can choose the payment term. Then both have three steps. */
const STEPS: Record<Step, { number: number; paymentTerm?: PaymentTerm }> = {
  'Payment method': { number: 1 },
  'Your application': { number: 2, paymentTerm: 'PAY_LATER' },
  'Your agreement': { number: 3, paymentTerm: 'PAY_LATER' },
  'Your bank': { number: 2, paymentTerm: 'PAY_NOW' },
  'Your payment': { number: 3, paymentTerm: 'PAY_NOW' },
};
const TOTAL_STEPS = 3;

/** At the top of the pages of the sandbox. */
export const SANDBOX_NOTICE = 'Sandbox: no real lender, bank, email or money.';

/** An error in a form's field, or in the whole form if no field is named. */
interface FormError {
  field?: string;
  message: string;
}

/** One page of the checkout. */
export interface Page {
  /** The HTTP status. Default: 200. */
  status?: number;
  title: string;
  content: Html;
  /** Shown at the top. Default: SANDBOX_NOTICE on the pages of a sandbox order. */
  notice?: string;
  /** Pages outside the steps have none. */
  step?: Step;
  /** How the customer pays. Default: the payment term of the step. */
  paymentTerm?: PaymentTerm | undefined;
  /**
   * True once the customer has approved a payment or agreed: no expiry overtakes that, and there is nothing to finish
   * later.
   */
  isCustomerDone?: boolean;
  /** Shown above the content, and in the title. */
  errors?: readonly FormError[];
  /** An automatic reload or redirect, which needs no script. */
  refresh?: { afterSeconds: number; url: string };
}

/** The order that the layout shows around a page. */
export interface LayoutContext {
  order: Order;
  branding: Branding;
  providerDetails: ProviderDetails;
  /** The path of the order's pages: `/pay/<pay_link_id>`, after the path prefix if there is one. */
  path: string;
}

/** @returns the document and the source expression that its Content-Security-Policy needs for the stylesheet */
export function renderPage(page: Page, context: LayoutContext | undefined): { body: string; styleHash: string } {
  const colour = context?.branding.colour ?? null;
  const stylesheet = createStylesheet(CSS, colour);
  const errors = page.errors ?? [];
  const notice = page.notice ?? (context?.order.sandbox && SANDBOX_NOTICE);
  const title = [errors.length > 0 ? `Error: ${page.title}` : page.title, context?.order.sellerName];
  const { text } = html`<!doctype html>
    <html lang="en-GB">
      <head>
        <meta charset="utf-8" />
        <title>${title.filter(Boolean).join(' – ')}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="${favicon(colour)}" />
        ${stylesheet.element}
      </head>
      <body>
        ${notice && html`<aside class="notice" aria-label="Notice">${notice}</aside>`}
        <div class="page">
          <div class="${context ? 'card split' : 'card'}">
            ${context && header(context, page.isCustomerDone)}
            <main>
              ${context && page.step && steps(page.step, context.order)} ${errorSummary(errors)} ${page.content}
            </main>
            ${context && footer(context, page)}
          </div>
        </div>
      </body>
    </html> `;
  return { body: text, styleHash: stylesheet.hash };
}

/** A tick on the seller's colour. */
function favicon(colour: string | null): string {
  const { brand, onBrand } = brandColours(colour);
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${brand}"/>` +
    `<path d="M8 17l5 5 11-12" fill="none" stroke="${onBrand}" stroke-width="4"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

function header({ order, branding, path }: LayoutContext, isCustomerDone = false): Html {
  const { sellerName, amountPence, reference, expiresAt, status } = order;
  // A time in the past, while the expiry is held, would be no help.
  const hasDeadline = expiresAt !== null && Date.parse(expiresAt) > Date.now() && !isFinal(status) && !isCustomerDone;
  return html`<header>
    <div class="seller">${branding.hasLogo && html`<img src="${path}/logo/" alt="" />`}<span>${sellerName}</span></div>
    <div class="order">
      <p class="amount"><span class="visually-hidden">Amount: </span>${formatPence(amountPence)}</p>
      <p class="reference">Order reference ${reference}</p>
      ${hasDeadline && html`<p class="deadline">Complete by <time datetime="${expiresAt}">${formatDeadline(expiresAt)}</time></p>`}
    </div>
  </header>`;
}

function footer({ order, branding, providerDetails }: LayoutContext, page: Page): Html {
  const { sellerName, allowedPaymentTerms } = order;
  const { contactEmail, helpUrl } = branding;
  const { lenderName, payNow, privacyUrl, termsUrl } = providerDetails;
  const canFinishLater = page.step !== undefined && !page.isCustomerDone;
  const term = page.paymentTerm ?? (page.step && STEPS[page.step].paymentTerm);
  const terms = term ? [term] : allowedPaymentTerms;
  return html`<footer>
    ${
      canFinishLater &&
      html`<p>
        You can finish this order later with the same link.
        <a href="${wayBack(order, branding)}">Return to ${sellerName}</a>
      </p>`
    }
    ${
      (contactEmail !== null || helpUrl !== null) &&
      html`<p>
        Questions about your order? ${helpUrl !== null && externalLink(helpUrl, 'Get help')}
        ${helpUrl !== null && contactEmail !== null && 'or email'}
        ${contactEmail !== null && html`<a href="mailto:${contactEmail}">${contactEmail}</a>`}
      </p>`
    }
    ${terms.includes('PAY_LATER') && html`<p>Pay later is provided by ${lenderName}.</p>`}
    ${terms.includes('PAY_NOW') && payNow && html`<p>Pay now is provided by ${payNow.name}. ${payNow.regulation}</p>`}
    <p class="links">${externalLink(privacyUrl, 'Privacy')} ${externalLink(termsUrl, 'Terms')}</p>
  </footer>`;
}

/** An order with one payment term has no step for the choice. */
function steps(name: Step, { allowedPaymentTerms }: Order): Html {
  const skipped = allowedPaymentTerms.length === 1 ? 1 : 0;
  const [number, total] = [STEPS[name].number - skipped, TOTAL_STEPS - skipped];
  return html`<progress value="${number}" max="${total}" aria-hidden="true"></progress>
    <p class="step">Step ${number} of ${total}: ${name}</p>`;
}

/** Each error links to its field. */
function errorSummary(errors: readonly FormError[]): Html | false {
  if (errors.length === 0) return false;
  return html`<div class="alert" role="alert">
    <h2>There is a problem</h2>
    <ul>
      ${errors.map(({ field, message }) =>
        field === undefined ? html`<li>${message}</li>` : html`<li><a href="#${field}">${message}</a></li>`,
      )}
    </ul>
  </div>`;
}

/** A link that keeps the page, and what was typed in it. */
export function externalLink(url: string, text: string): Html {
  return html`<a href="${url}" target="_blank" rel="noopener"
    >${text}<span class="visually-hidden"> (opens in a new tab)</span></a
  >`;
}

/** Where customers who have not completed the order go back to. The redirect URL is for completed orders only. */
export function wayBack({ cancelUrl, redirectUrl }: Order, { shopUrl }: Branding): string {
  return cancelUrl ?? shopUrl ?? `${new URL(redirectUrl).origin}/`;
}
