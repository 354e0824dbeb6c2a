import { html, type Html } from '../html/html';
import type { OrderBody } from '../contracts/order-schemas';
import { formatPence } from '../domain/money';
import type { OrderStatus, PaymentTerm } from '../domain/order';
import { formatDay } from './format';
import { field, select, table, time } from './layout';

export const STATUS_LABELS: Record<OrderStatus, string> = {
  CREATED: 'Created',
  PENDING: 'Pending',
  APPROVED: 'Approved',
  SUCCESSFUL: 'Successful',
  UNSUCCESSFUL: 'Unsuccessful',
};
export const TERM_LABELS: Record<PaymentTerm, string> = { PAY_NOW: 'Pay now', PAY_LATER: 'Pay later' };

/** What the page's form holds. Empty fields select everything, so that each view has one URL. */
export interface OrderSearch {
  /** A reference, an order id or an amount. */
  q: string;
  status: OrderStatus | '';
  term: PaymentTerm | '';
  /** Which time the two dates are about. */
  by: 'created' | 'completed';
  /** Dates in London, both inclusive, such as 2026-10-01. */
  from: string;
  to: string;
}

export interface OrdersPage {
  /** Where the seller's pages begin. */
  base: string;
  search: OrderSearch;
  orders: readonly OrderBody[];
  /** Of the next page; null on the last one. */
  cursor: string | null;
  /** True on a page after the first. */
  isContinued: boolean;
  /** What an open order waits for, by its id. */
  waitingFor: ReadonlyMap<string, string>;
  /** Set if the search is by amount because no reference is like it. */
  note: string | undefined;
}

/** The query of a search, without what is empty. */
export function searchQuery(search: OrderSearch, more: Record<string, string> = {}): string {
  const given = Object.entries({ ...search, ...more }).filter(
    ([name, value]) => value !== '' && !(name === 'by' && value === 'created'),
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

export function ordersPage(page: OrdersPage): Html {
  const { base, search, orders, cursor, isContinued, note } = page;
  return html`${searchForm(base, search)} ${monthLinks(base)}
  ${note !== undefined && html`<p class="message" role="status">${note}</p>`}
  ${
    orders.length === 0
      ? emptyState(base, searchQuery(search) !== '')
      : html`${ordersTable(page)}
          <nav aria-label="More orders">
            ${isContinued && html`<a href="${base}/orders/${searchQuery(search)}">First page</a>`}
            ${cursor !== null && html`<a rel="next" href="${base}/orders/${searchQuery(search, { cursor })}">Next page</a>`}
            <a href="${base}/orders.csv${searchQuery(search)}" download>Download all of this selection as CSV</a>
          </nav>`
  }`;
}

const all = <T extends string>(labels: Record<T, string>) =>
  [['', 'All'], ...(Object.entries(labels) as [T, string][])] as const;

function searchForm(base: string, { q, status, term, by, from, to }: OrderSearch): Html {
  return html`<form class="search" method="get" action="${base}/orders/" role="search">
    ${field({ name: 'q', label: 'Reference, ID or amount in pounds', value: q })}
    ${select('status', 'Status', status, all(STATUS_LABELS))} ${select('term', 'Payment', term, all(TERM_LABELS))}
    ${select('by', 'Dates of', by, [
      ['created', 'Creation'],
      ['completed', 'Completion'],
    ])}
    ${field({ name: 'from', label: 'From', type: 'date', value: from })}
    ${field({ name: 'to', label: 'To', type: 'date', value: to })}
    <div class="inline"><button>Search</button> <a href="${base}/orders/">Clear</a></div>
  </form>`;
}

/** What bookkeeping needs each month: the completed orders of the last month, and of this one. */
function monthLinks(base: string): Html {
  const now = new Date();
  const date = (months: number, day: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, day)).toISOString().slice(0, 10);
  const links = [-1, 0].map((month) => {
    const [from, to] = [date(month, 1), date(month + 1, 0)];
    const query = searchQuery({ q: '', status: 'SUCCESSFUL', term: '', by: 'completed', from, to });
    return html`<a href="${base}/orders/${query}">${formatDay(from).slice(2)}</a>`;
  });
  return html`<p class="inline">Completed in ${links}</p>`;
}

function ordersTable({ base, orders, waitingFor }: OrdersPage): Html {
  const rows = orders.map((order) => [
    html`<a href="${base}/orders/${order.id}/">${order.reference}</a>`,
    formatAmount(order.amount),
    html`${statusBadge(order.status)}
    ${waitingFor.has(order.id) && html`<span class="waits">${waitingFor.get(order.id)}</span>`}`,
    order.payment_term === undefined ? '–' : TERM_LABELS[order.payment_term],
    time(order.created_at),
    order.completed_at === undefined ? '–' : time(order.completed_at),
  ]);
  return table('Orders', ['Reference', '#Amount', 'Status', 'Payment', 'Created', 'Completed'], rows);
}

export const statusBadge = (status: OrderStatus): Html =>
  html`<span class="badge ${status.toLowerCase()}">${STATUS_LABELS[status]}</span>`;

/** @param pounds as in the API */
export const formatAmount = (pounds: number): string => formatPence(Math.round(pounds * 100));

function emptyState(base: string, isFiltered: boolean): Html {
  return isFiltered
    ? html`<p class="empty">
        No order matches. A reference or an ID must be complete. <a href="${base}/orders/">Show all orders</a>
      </p>`
    : html`<p class="empty">
        No orders yet. Your shop creates an order when a customer checks out: see the
        <a href="/docs/quickstart" target="_blank" rel="noopener">quickstart</a>.
      </p>`;
}
