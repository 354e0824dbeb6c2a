/** The longest wait that a receiver can request. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

const SECONDS = /^\d+$/;

/** The three date formats of RFC 9110, section 5.6.7. `Date.parse` alone also accepts `-5` and `1.5`. */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850 = /^[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * The wait of a `Retry-After` header (RFC 9110, section 10.2.3: seconds or an HTTP date) in milliseconds, from 0 to 24
 * hours; null for a missing or malformed header. If there are several, the first is used.
 *
 * @param nowMs the current time in Unix milliseconds
 */
export function parseRetryAfter(value: string | string[] | undefined, nowMs: number): number | null {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (text === undefined) return null;
  const waitMs = SECONDS.test(text) ? Number(text) * 1000 : parseHttpDate(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

/** Returns Unix milliseconds, or NaN. */
function parseHttpDate(text: string): number {
  if (IMF_FIXDATE.test(text) || RFC_850.test(text)) return Date.parse(text);
  // An asctime date has no zone and is in UTC; `Date.parse` would read it as local time.
  return ASCTIME.test(text) ? Date.parse(`${text} GMT`) : NaN;
}
