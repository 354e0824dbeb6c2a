import type { Command } from 'commander';
import type { TimelineEntryBody } from '../contracts/webhook-log-schemas';
import type { Db } from '../db/pool';
import { type TimelineEntry, readTimeline } from '../db/read-timeline';
import { toTimelineEntryBody } from '../orders/webhook-log';
import { type Row, print, wantsJson } from './output';

const PAGE = 500;

/** Prints the whole timeline of an order: with `--json` as the API returns it, otherwise one line for each entry. */
export async function printTimeline(command: Command, db: Db, orderId: string): Promise<void> {
  const entries = (await wholeTimeline(db, orderId)).map(toTimelineEntryBody);
  await print(command, wantsJson(command) ? entries : entries.map(toRow));
}

async function wholeTimeline(db: Db, orderId: string): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for (;;) {
    const page = await readTimeline(db, orderId, entries.at(-1)?.position, PAGE);
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

function toRow(entry: TimelineEntryBody): Row {
  const { at } = entry;
  if (entry.type === 'webhook_attempt') {
    const { webhook_id, sequence, attempt, resend, status, error, error_detail } = entry;
    const what = `webhook ${sequence}, attempt ${attempt}${resend ? ' (resend)' : ''}`;
    return { at, what, who: webhook_id, outcome: error ?? status, why: error_detail };
  }
  if (entry.type === 'recovery') {
    return { at, what: 'run replaced', who: 'system', outcome: entry.order_status, why: entry.reason };
  }
  if (entry.type === 'webhook_wait') {
    return { at, what: 'webhooks wait', who: 'system', outcome: entry.order_status, why: entry.reason };
  }
  const { event, actor, reason } = entry;
  const outcome = entry.type === 'change' ? `${entry.from ?? '-'} -> ${entry.to}` : `refused: ${entry.order_status}`;
  return { at, what: event, who: actor, outcome, why: reason };
}
