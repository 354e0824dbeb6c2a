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

/** @param rows one more than the page holds, where there is more */
export function toPage<T>(rows: T[], limit: number, cursorOf: (item: T) => string): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
