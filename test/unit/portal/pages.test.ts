import { toOrderBody } from '../../../src/contracts/order-mapper';
import type { Visit } from '../../../src/portal/context';
import { orderPage } from '../../../src/portal/order';
import { type OrderSearch, ordersPage, searchQuery } from '../../../src/portal/orders-list';
import { overviewPage } from '../../../src/portal/overview';
import type { Order, OrderEvent } from '../../../src/domain/order';
import { ORDER, applyEvents } from '../../support/domain-orders';

const EMPTY: OrderSearch = { q: '', status: '', term: '', by: 'created', from: '', to: '' };
const HOSTILE = '"><script>alert(1)</script>';
const visitOf = (readOnly: boolean) => ({ session: { readOnly }, path: '/portal', token: 'token' }) as unknown as Visit;
const visit = visitOf(false);
const anOrder = (fields: Partial<Order> = {}, events: OrderEvent[] = []): Order =>
  applyEvents({ ...ORDER, ...fields }, ...events);
const bodyOf = (order = anOrder()) => toOrderBody(order, 'https://pay.example');
const pageOf = (orders = [bodyOf()], search = EMPTY) => ({
  ...{ base: '/portal', search, orders, cursor: null, isContinued: false, note: undefined },
  waitingFor: new Map([[orders[0]?.id ?? '', HOSTILE]]),
});

test('a session that may only read has no form and no button on an order', () => {
  const page = { order: bodyOf(), timeline: [], hasMore: false, waitingFor: undefined };
  expect(orderPage({ ...page, visit: visitOf(true) }).text).not.toMatch(/<form|<button|cancel/);
  expect(orderPage({ ...page, visit }).text).toContain('/cancel/');
});

test('only what the status allows can be simulated, and only in a sandbox account', () => {
  const buttons = (order: Order): string[] => {
    const page = { visit, order: bodyOf(order), timeline: [], hasMore: false, waitingFor: undefined };
    return [...orderPage(page).text.matchAll(/name="event" value="(\w+)"/g)].map(([, event]) => event!);
  };
  expect(buttons(anOrder({ sandbox: true }))).toEqual(['signup_started', 'expired']);
  expect(buttons(anOrder({ sandbox: true }, ['signup_started']))).toEqual(['approved', 'declined', 'expired']);
  expect(buttons(anOrder({ sandbox: false }))).toEqual([]);
});

test('the URL of a search has what is set, and nothing else', () => {
  expect(searchQuery(EMPTY)).toBe('');
  expect(searchQuery({ ...EMPTY, q: 'a b', by: 'completed', from: '2026-10-01' })).toBe(
    '?q=a+b&by=completed&from=2026-10-01',
  );
  expect(ordersPage({ ...pageOf(), cursor: 'c', search: { ...EMPTY, status: 'PENDING' } }).text).toContain(
    'href="/portal/orders/?status=PENDING&amp;cursor=c"',
  );
});

test('one click selects the completed orders of the last month, and of this one', () => {
  jest.useFakeTimers({ now: new Date('2027-01-31T12:00:00Z') });
  const { text } = ordersPage(pageOf());
  jest.useRealTimers();
  const links = [...text.matchAll(/\?status=SUCCESSFUL&amp;by=completed&amp;from=([\d-]+)&amp;to=([\d-]+)">([^<]+)/g)];
  expect(links.map(([, ...parts]) => parts)).toEqual([
    ['2026-12-01', '2026-12-31', 'Dec 2026'],
    ['2027-01-01', '2027-01-31', 'Jan 2027'],
  ]);
});

test('an empty list says what to do', () => {
  expect(ordersPage(pageOf([])).text).toContain('No orders yet.');
  expect(ordersPage(pageOf([], { ...EMPTY, status: 'PENDING' })).text).toContain('No order matches.');
});

test('the chart has its numbers in a table too', () => {
  const days = [
    { day: '2026-11-27', created: 4, converted: 1, completed: 2, completedPence: 123_450 },
    { day: '2026-11-28', created: 0, converted: 0, completed: 0, completedPence: 0 },
  ];
  const summary = { days, created: 4, completed: 2, completedPence: 123_450, conversion: 0.25, medianMs: 720_000 };
  const { text } = overviewPage('/portal', summary, []);
  expect(text.match(/<rect/g)).toHaveLength(2);
  for (const shown of ['25.0%', '12 min', '£1,234.50', '<td class="number">4</td>']) expect(text).toContain(shown);
});
