import { NO_CURSOR } from '../contracts/page-query';
import { type Problem, invalidRequest } from '../contracts/problem';

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Requests the next page; null on the last page. */
  nextCursor: string | null;
}

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

/** An unknown cursor is refused like a malformed one: an empty page would look like the end of the list. */
export function unknownCursor(): Problem {
  return invalidRequest([{ code: 'invalid_format', detail: NO_CURSOR, parameter: 'cursor' }]);
}

/** @param rows up to one more than `limit`: the additional row shows that there is a next page */
export function toPage<T>(rows: T[], limit: number, cursorOf: (item: T) => string): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
