import { z } from 'zod';
import { refuse } from './fields';

/** The search parameters of every list. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .transform(Number)
    .default(25)
    .meta({
      description: 'Items on a page',
      examples: [25],
      override: { type: 'integer', minimum: 1, maximum: 100, default: 25 },
    }),
};

/** A moment in a search parameter, where a bare `+` means a blank. */
export const moment = z
  .union(
    [z.iso.datetime({ offset: true }), z.iso.date()],
    'must be a time such as 2027-01-31T09:00:00Z, or a date (UTC)',
  )
  .transform((text, context) => {
    const time = new Date(text).toISOString();
    // In UTC: Postgres knows no year 0, and more digits than four only as another notation.
    return /^(?!0000)\d{4}-/.test(time)
      ? time
      : refuse(context, 'invalid_value', 'must be of a year from 0001 to 9999');
  })
  .optional();

export const CURSOR = { description: 'The `next_cursor` of the page before' };
export const NO_CURSOR = 'must be the next_cursor of an earlier page';
export const uuidCursor = z
  .guid(NO_CURSOR)
  .optional()
  .meta({ description: `${CURSOR.description}; any other is refused` });
