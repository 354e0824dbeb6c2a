import { penceToPounds } from '../domain/money';
import type { Order } from '../domain/order';

/** The columns of a CSV of orders, named as in the API. */
const COLUMNS: Readonly<Record<string, (order: Order) => string | null>> = {
  id: ({ id }) => id,
  reference: ({ reference }) => reference,
  status: ({ status }) => status,
  amount: ({ amountPence }) => penceToPounds(amountPence).toFixed(2),
  payment_term: ({ paymentTerm }) => paymentTerm,
  created_at: ({ createdAt }) => createdAt,
  completed_at: ({ completedAt }) => completedAt,
  cancelled_at: ({ cancelledAt }) => cancelledAt,
  unsuccessful_reason: ({ unsuccessfulReason }) => unsuccessfulReason,
};

/** What a spreadsheet would take for a formula (OWASP: CSV injection), in full width too. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/;

export const CSV_HEAD = toLine(Object.keys(COLUMNS));

/** Returns one line, as RFC 4180 defines it. */
export function toCsvLine(order: Order): string {
  return toLine(Object.values(COLUMNS).map((valueOf) => valueOf(order) ?? ''));
}

function toLine(cells: readonly string[]): string {
  return `${cells.map(toCell).join(',')}\r\n`;
}

function toCell(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
