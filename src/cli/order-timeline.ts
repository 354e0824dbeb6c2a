import type { Command } from 'commander';
import type { TimelineEntryBody } from '../contracts/timeline-schemas';
import type { Db } from '../db/pool';
import { type TimelineEntry, readTimeline } from '../db/read-timeline';
import { toTimelineEntryBody } from '../orders/timeline';
import { escapeControls } from '../domain/escape-controls';
import { type Row, print, toTable, wantsJson, write } from './output';

const PAGE = 500;

/**
 * Prints the whole timeline of an order: with `--json` as the API returns it, otherwise one line of at most 100
 * characters for each entry, and below it the reason, if there is one.
 */
export async function printTimeline(command: Command, db: Db, orderId: string): Promise<void> {
  const entries = (await wholeTimeline(db, orderId)).map(toTimelineEntryBody);
  if (wantsJson(command)) return print(command, entries);
  const [head, ...lines] = toTable(entries.map(toRow)).trimEnd().split('\n');
  await write([head, ...lines.map((line, index) => line + reasonBelow(entries[index]))].join('\n') + '\n');
}

async function wholeTimeline(db: Db, orderId: string): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for (;;) {
    const page = await readTimeline(db, orderId, entries.at(-1)?.position, PAGE);
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

function reasonBelow(entry: TimelineEntryBody | undefined): string {
  if (entry?.type === 'webhook_attempt') {
    // `webhooks resend` needs the id.
    return entry.error === null ? '' : indented(`${entry.error_detail ?? ''} (webhook ${entry.webhook_id})`);
  }
  return entry?.reason == null ? '' : indented(entry.reason);
}

const indented = (text: string): string => `\n    ${escapeControls(text)}`;

function toRow(entry: TimelineEntryBody): Row {
  const at = `${entry.at.slice(0, 19)}Z`;
  if (entry.type === 'webhook_attempt') {
    const { sequence, attempt, resend, status, error } = entry;
    const what = `webhook ${sequence}, attempt ${attempt}${resend ? ' (unscheduled)' : ''}`;
    return { at, what, who: 'system', channel: null, outcome: error ?? status };
  }
  const { event, actor, channel } = entry;
  const outcome = entry.type === 'change' ? `${entry.from ?? '-'} -> ${entry.to}` : `refused: ${entry.order_status}`;
  return { at, what: event, who: actor, channel, outcome };
}
