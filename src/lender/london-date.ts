const CALENDAR = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: 'Europe/London' });

/** The calendar date in London at a point in time, such as `2027-01-31`. */
export function londonDate(at: Date): string {
  return CALENDAR.format(at);
}
