import type { Page } from '../orders/list-page';
import type { Context } from './context';

export function sendListPage<T>(ctx: Context, { items, nextCursor }: Page<T>): void {
  ctx.body = { data: items, next_cursor: nextCursor };
}
