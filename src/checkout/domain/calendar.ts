const DAY_MS = 86_400_000;

/**
 * The same day of a later month, or the last day of that month if it is shorter.
 * @param date a calendar date such as `2027-01-31`
 */
export function monthsAfter(date: string, months: number): string {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  const lastDay = new Date(Date.UTC(year, month + months, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 + months, Math.min(day, lastDay))).toISOString().slice(0, 10);
}

/** @param date a calendar date such as `2027-01-31` */
export function daysAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Whole days between two calendar dates; negative if `to` is before `from`. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

const LONDON = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: 'Europe/London' });

/** The calendar date in London at a point in time. */
export function londonDate(at: Date): string {
  return LONDON.format(at);
}
