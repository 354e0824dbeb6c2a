import { sendHtml } from '../../html/send-page';
import { type Page, renderPage } from '../pages/layout';
import type { Context } from './context';

/** Sends a page, with its order around it once that is loaded. */
export function sendPage(ctx: Context, page: Page): void {
  sendHtml(ctx, { ...renderPage(page, ctx.state.layout), status: page.status, refresh: page.refresh });
}
