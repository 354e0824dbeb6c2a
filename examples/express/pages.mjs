/** The pages of the shop: plain HTML that needs no script. */

const STYLE = `
  :root { color-scheme: light dark; --ink: #2b211c; --paper: #faf6f1; --card: #fff; --line: #e7ddd2; --accent: #8a3b12 }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #f3ebe3; --paper: #1b1613; --card: #26201c; --line: #433830; --accent: #f0a06e }
  }
  * { box-sizing: border-box }
  body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.5 system-ui, sans-serif }
  header, main { max-width: 58rem; margin: auto; padding: 1.25rem }
  header { display: flex; gap: .75rem; align-items: baseline; font-weight: 700 }
  header a { color: inherit; text-decoration: none }
  a { color: var(--accent) }
  .product { display: grid; gap: 2rem; align-items: center; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)) }
  .picture, .card { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.5rem }
  .picture svg { display: block; width: 100%; max-height: 20rem }
  h1 { font-size: clamp(1.6rem, 5vw, 2.25rem); line-height: 1.2; margin: 0 0 .5rem }
  h2 { font-size: 1.2rem; margin: 0 0 1rem }
  .price { font-size: 1.5rem; font-weight: 700; margin: 1rem 0 }
  button, .button { display: inline-block; font: inherit; font-weight: 600; padding: .75rem 1.5rem; border: 0;
    border-radius: .6rem; background: var(--accent); color: var(--paper); text-decoration: none; cursor: pointer }
  .cards { display: grid; gap: 1.5rem; align-items: start; margin-top: 2rem; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)) }
  .button { margin-right: 1rem }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .4rem 1.5rem; margin: 0 }
  dd { margin: 0; font-weight: 600; overflow-wrap: anywhere }
  ol { list-style: none; margin: 0; padding: 0 }
  li { padding: .5rem 0; border-top: 1px solid var(--line) }
  li:first-child { border: 0 }
  li small { display: block }
  small { opacity: .75 }`;

const PICTURE = `<svg viewBox="0 0 200 160" role="img" aria-label="Coffee machine">
  <rect x="40" y="14" width="120" height="30" rx="8" fill="#8a3b12"/><rect x="40" y="44" width="34" height="88" fill="#a9532a"/>
  <rect x="32" y="130" width="136" height="14" rx="6" fill="#8a3b12"/><rect x="104" y="44" width="26" height="14" rx="3" fill="#5c4a3f"/>
  <path d="M117 60v22" stroke="#5b2a0c" stroke-width="4"/><path d="M92 84h50l-6 40a6 6 0 0 1-6 6h-26a6 6 0 0 1-6-6z" fill="#f0dcc8"/>
  <path d="M141 92c16-2 18 22-4 22" fill="none" stroke="#f0dcc8" stroke-width="6"/><circle cx="57" cy="29" r="5" fill="#f6c38f"/>
  </svg>`;

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text) => String(text).replace(/[&<>"']/g, (character) => ESCAPES[character]);
const pounds = new Intl.NumberFormat('en-GB', { style: 'currency', currency: 'GBP' });

/** @param refreshSeconds after which the browser loads the page again; 0 for never */
function page(title, content, refreshSeconds = 0) {
  return `<!doctype html>
<html lang="en-GB">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
${refreshSeconds > 0 ? `<meta http-equiv="refresh" content="${refreshSeconds}">` : ''}
<title>${title} – Demo Shop</title><link rel="icon" href="data:,"><style>${STYLE}</style>
<header><a href="/">Demo Shop</a> <small>coffee for offices</small></header>
<main>${content}</main>
</html>`;
}

export function productPage({ name, amount, cart }) {
  return page(
    name,
    `<div class="product"><div class="picture">${PICTURE}</div><div>
      <h1>${name}</h1>
      <p>Two groups, fresh milk, 240 cups a day: a machine for the whole office.</p>
      <p class="price">${pounds.format(amount)}</p>
      <form method="post" action="/pay">
        <input type="hidden" name="cart" value="${cart}">
        <button>Pay ${pounds.format(amount)}</button>
      </form>
      <p><small>For companies: pay now, or later in instalments. This is a demonstration: no money moves.</small></p>
    </div></div>`,
  );
}

const HEADINGS = { SUCCESSFUL: 'Thank you for your order', UNSUCCESSFUL: 'Your order was not completed' };

/**
 * @param isCustomer true if the browser is the one that paid; others see neither the pay link nor the cart
 * @param webhooks the verified webhooks of the order, by sequence; undefined if they are sent elsewhere
 * @param mayChange false if the page need not be loaded again
 */
export function orderPage(order, isCustomer, webhooks, mayChange) {
  const { id, amount, status, order_url, webhook_url } = order;
  const heading = HEADINGS[status] ?? 'Your order is not complete';
  const isOpen = HEADINGS[status] === undefined;
  const isUpToDate = webhooks === undefined || webhooks.at(-1)?.data.order.status === status;
  const next =
    isOpen && isCustomer
      ? `<a class="button" href="${escape(order_url)}">Continue to payment</a> <a href="/">Back to the shop</a>`
      : '<a class="button" href="/">Back to the shop</a>';
  return page(
    heading,
    `<h1>${heading}</h1>
    <p>The order is ${status}.</p>
    <p>${next}</p>
    <div class="cards">
      <section class="card"><h2>Your order</h2><dl>
        <dt>Amount</dt><dd>${pounds.format(amount)}</dd><dt>Status</dt><dd>${status}</dd><dt>Order id</dt><dd>${id}</dd>
      </dl><p><small>What the shop's server has just read with GET /order/&lt;id&gt;/.</small></p></section>
      <section class="card"><h2>Verified webhooks</h2>${webhookList(webhooks, webhook_url)}</section>
    </div>`,
    mayChange && (isOpen || !isUpToDate) ? 2 : 0,
  );
}

function webhookList(webhooks, webhookUrl) {
  if (webhooks === undefined) {
    return `<p>${webhookUrl ? `They are sent to ${escape(webhookUrl)}.` : 'The order has no webhook_url.'}</p>`;
  }
  if (webhooks.length === 0) return '<p>None yet. They appear here as they arrive.</p>';
  const lines = webhooks.map(
    ({ timestamp, data }) =>
      `<li>✓ ${data.sequence}. ${data.previous_status} to <b>${data.order.status}</b>
        <small>by ${data.actor}, ${timestamp.slice(11, 19)} UTC</small></li>`,
  );
  return `<ol>${lines.join('')}</ol>`;
}

export function messagePage(title, text) {
  return page(title, `<h1>${title}</h1><p>${text}</p><p><a class="button" href="/">Back to the shop</a></p>`);
}
