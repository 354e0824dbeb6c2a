const ZONE = 'Europe/London';
const DAY_PARTS = { day: 'numeric', month: 'short', year: 'numeric', timeZone: ZONE } as const;
const DAY = new Intl.DateTimeFormat('en-GB', DAY_PARTS);
const TIME = new Intl.DateTimeFormat('en-GB', {
  ...DAY_PARTS,
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});
const HOUR = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', hourCycle: 'h23', timeZone: ZONE });

/** `28 Nov 2026` @param date ISO 8601, a date or a time */
export const formatDay = (date: string): string => DAY.format(new Date(date));

/** `28 Nov 2026, 14:05 GMT` */
export const formatTime = (at: Date): string => TIME.format(at);

/**
 * The beginning of a day in London, or of the day after it.
 * @param date such as 2026-11-28
 * @returns ISO 8601; undefined if there is no such day, or Postgres could not read it
 */
export function startOfDay(date: string, { daysLater = 0 } = {}): string | undefined {
  const utc = new Date(`${date}T00:00:00Z`);
  const year = utc.getUTCFullYear();
  if (!(year >= 1970 && year < 9999)) return undefined;
  utc.setUTCDate(utc.getUTCDate() + daysLater);
  // At midnight UTC, London is at 0 or 1 o'clock.
  utc.setUTCHours(-Number(HOUR.format(utc)));
  return utc.toISOString();
}

/** A duration in its two largest units: `3 days 4 h`, `12 min`. */
export function formatDuration(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return '< 1 min';
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return `${days === 1 ? '1 day' : `${days} days`} ${hours % 24} h`;
}
