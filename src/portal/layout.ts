import { readFileSync } from 'node:fs';
import path from 'node:path';
import { TOKEN_FIELD } from '../html/forms';
import { type Html, html } from '../html/html';
import { createStylesheet } from '../html/stylesheet';
import type { PortalPage, Visit } from './context';
import { formatTime } from './format';

const stylesheet = createStylesheet(readFileSync(path.join(__dirname, 'portal.css'), 'utf8'), null);

/** The pages of the navigation. The first one is the start page. */
export const PAGES: readonly (readonly [path: string, title: string])[] = [
  ['/overview/', 'Overview'],
  ['/orders/', 'Orders'],
  ['/webhooks/', 'Webhooks'],
  ['/developers/', 'Developers'],
];

/** What an action that has succeeded says on the page that it leads to: `?done=<key>`. */
const DONE: Readonly<Record<string, string>> = {
  cancelled: 'The order is cancelled.',
  resent: 'The webhook is being sent again. Reload the page to see the result.',
  resending:
    'The webhooks are being sent again, the oldest first, about four a second. Reload the page to see the result.',
  address:
    'The webhook address is saved. Webhooks that wait are sent to it at their next attempt. To send them now, press “Resend”.',
  headers: 'The static headers are saved.',
};

/** @param visit undefined without a session @param current the path of the page, below the seller's page */
export function renderPage(page: PortalPage, visit?: Visit, current = '', done = '') {
  const { session } = visit ?? {};
  const message = Object.hasOwn(DONE, done) && DONE[done];
  const { text } = html`<!doctype html>
    <html lang="en-GB">
      <head>
        <meta charset="utf-8" />
        <title>${[page.title, session?.seller.name].filter(Boolean).join(' – ')}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        ${stylesheet.element}
      </head>
      <body>
        ${session?.seller.sandbox && html`<aside class="notice" aria-label="Notice">Sandbox: no real customers or money.</aside>`}
        ${visit && header(visit, current)}
        <main class="portal" id="content">
          ${message && html`<p class="message" role="status">${message}</p>`}
          <h1>${page.title}</h1>
          ${page.content}
        </main>
      </body>
    </html> `;
  return { body: text, styleHash: stylesheet.hash, status: page.status };
}

function header(visit: Visit, current: string): Html {
  const { session, path: base } = visit;
  return html`<a class="skip" href="#content">Skip to the content</a>
    <header class="top">
      <p class="who">
        <strong>${session.seller.name}</strong>${session.readOnly && html` <span class="badge">Read only</span>`}
      </p>
      <nav aria-label="Pages">
        ${PAGES.map(
          ([to, title]) =>
            html`<a href="${base}${to}" ${current.startsWith(to) && html`aria-current="page"`}>${title}</a>`,
        )}
      </nav>
      <form class="inline sign-out" method="post" action="${base}/sign-out/">
        <input type="hidden" name="${TOKEN_FIELD}" value="${visit.token}" />
        ${session.user !== null && html`<span class="hint">${session.user}</span>`}
        <button class="secondary">Sign out</button>
      </form>
    </header>`;
}

/** A form that changes something. A read-only session has none. */
export function form(
  { path: base, token, session }: Visit,
  action: string,
  content: Html,
  className = '',
): Html | false {
  if (session.readOnly) return false;
  return html`<form class="${className}" method="post" action="${base}${action}">
    <input type="hidden" name="${TOKEN_FIELD}" value="${token}" />
    ${content}
  </form>`;
}

/** A time of the API, in British time. */
export const time = (iso: string): Html => html`<time datetime="${iso}">${formatTime(new Date(iso))}</time>`;

interface Field {
  /** Also the id. */
  name: string;
  label: string;
  value?: string | null;
  hint?: string;
  /** `lines`: a text area. */
  type?: 'text' | 'url' | 'date' | 'lines';
  required?: boolean;
}

export function field({ name, label, value, hint, type = 'text', required = false }: Field): Html {
  const shared = html`id="${name}" name="${name}" autocomplete="off"
  ${hint !== undefined && html`aria-describedby="${name}-hint"`} ${required && html`required`}`;
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${type === 'lines' ? html`<textarea ${shared} rows="3">${`\n${value ?? ''}`}</textarea>` : html`<input ${shared} type="${type}" value="${value}" />`}
  </div>`;
}

export function select(
  name: string,
  label: string,
  chosen: string,
  options: readonly (readonly [value: string, text: string])[],
): Html {
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <select id="${name}" name="${name}">
      ${options.map(([value, text]) => html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`)}
    </select>
  </div>`;
}

type Cell = Html | string | number;

/** A table that scrolls by itself. `#` at the beginning of a column's name marks a column of numbers. */
export function table(label: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Html {
  const mark = (index: number): Html | false | undefined => columns[index]?.startsWith('#') && html`class="number"`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">
    <table class="list">
      <thead>
        <tr>
          ${columns.map((name, index) => html`<th scope="col" ${mark(index)}>${name.replace('#', '')}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first, ...others]) =>
            html`<tr>
              <th scope="row">${first}</th>
              ${others.map((cell, index) => html`<td ${mark(index + 1)}>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
