import { penceToPounds } from '../domain/money';
import { type Order, settlementOf } from '../domain/order';

/** The columns of a CSV of orders, named as in the API. */
const COLUMNS: Readonly<Record<string, (order: Order) => string | null | undefined>> = {
  id: ({ id }) => id,
  reference: ({ reference }) => reference,
  status: ({ status }) => status,
  amount: ({ amountPence }) => toPounds(amountPence),
  payment_term: ({ paymentTerm }) => paymentTerm,
  created_at: ({ createdAt }) => createdAt,
  completed_at: ({ completedAt }) => completedAt,
  cancelled_at: ({ cancelledAt }) => cancelledAt,
  unsuccessful_reason: ({ unsuccessfulReason }) => unsuccessfulReason,
  settlement_reference: (order) => settlementOf(order)?.reference,
  settlement_fee: (order) => toPounds(settlementOf(order)?.feePence),
  settlement_payout_date: (order) => settlementOf(order)?.payoutDate,
};

const toPounds = (pence?: number) => (pence === undefined ? undefined : penceToPounds(pence).toFixed(2));

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
