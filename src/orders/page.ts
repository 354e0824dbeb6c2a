import { NO_CURSOR } from '../contracts/page-query';
import { type Problem, invalidRequest } from '../contracts/problem';

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Asks for the next page; null on the last one. */
  nextCursor: string | null;
}

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

/** To a cursor that leads nowhere, as to one that is not even written as one: its reader must not take it for the end. */
export function unknownCursor(): Problem {
  return invalidRequest([{ code: 'invalid_format', detail: NO_CURSOR, parameter: 'cursor' }]);
}

/** @param rows one more than the page holds, where there is more */
export function toPage<T>(rows: T[], limit: number, cursorOf: (item: T) => string): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
