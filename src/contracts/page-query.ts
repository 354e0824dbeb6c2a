import { z } from 'zod';
import { refuse } from './fields';

export const DEFAULT_LIMIT = 25;
export const MAX_LIMIT = 100;

/** Query parameters of every list. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .transform(Number)
    .default(DEFAULT_LIMIT)
    .meta({
      description: 'Maximum number of items on the page. A page of large items may have fewer.',
      examples: [DEFAULT_LIMIT],
      override: { type: 'integer', pattern: undefined, minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    }),
};

function toUtc(text: string, context: z.RefinementCtx): string {
  const time = new Date(text).toISOString();
  // Checked in UTC. Postgres has no year 0 and writes years of more than four digits differently.
  return /^(?!0000)\d{4}-/.test(time) ? time : refuse(context, 'invalid_value', 'must have a year from 0001 to 9999');
}

const TIME = 'must be a time such as 2027-01-31T09:00:00Z';

/** A time in a body, normalized to UTC. */
export const time = () => z.iso.datetime({ offset: true, error: TIME }).transform(toUtc);

/** A time in a query parameter, normalized to UTC. */
export const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], `${TIME}, or a date`)
  .transform(toUtc)
  .optional()
  // Generators have no type for a choice of formats.
  .meta({ override: { type: 'string', anyOf: undefined } });

export const CURSOR = { description: 'The `next_cursor` of the previous page' };
export const NO_CURSOR = 'must be the next_cursor of an earlier page';
export const uuidCursor = z.guid(NO_CURSOR).optional().meta(CURSOR);
