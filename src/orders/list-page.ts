import { NO_CURSOR } from '../contracts/fields';
import { type Problem, invalidRequest } from '../contracts/problem';

/** One page of a list. */
export interface Page<T> {
  data: T[];
  /** Requests the next page; null on the last page. */
  next_cursor: string | null;
}

/** An unknown cursor is refused like a malformed one: an empty page would look like the end of the list. */
export function unknownCursor(): Problem {
  return invalidRequest([{ code: 'invalid_format', detail: NO_CURSOR, parameter: 'cursor' }]);
}

/** @param rows up to one more than `limit`: the additional row shows that there is a next page */
export function toPage<T>(rows: T[], limit: number, cursorOf: (item: T) => string): Page<T> {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  return { data, next_cursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
