const CALENDAR = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: 'Europe/London' });

/** The calendar date, `2027-01-31`, that it is in London at a moment. */
export function londonDate(at: Date): string {
  return CALENDAR.format(at);
}
