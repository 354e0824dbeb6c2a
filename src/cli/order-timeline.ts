import type { Command } from 'commander';
import type { TimelineEntryBody } from '../contracts/webhook-schemas';
import type { Db } from '../db/pool';
import { type TimelineEntry, readTimeline } from '../db/read-timeline';
import type { BreakerOptions } from '../domain/webhook-endpoint';
import { describeTimeline } from '../orders/timeline';
import { escapeControls } from '../domain/text';
import { type Row, print, toTable, wantsJson, write } from './output';

const PAGE = 500;
/** Characters of a webhook's response. `--json` has all that is stored. */
const MAX_RESPONSE = 200;

/**
 * Prints the whole timeline of an order: with `--json` as the API returns it, otherwise one line of at most 100
 * characters for each entry, and below it the reason, or the response and the time of the next attempt.
 */
export async function printTimeline(
  command: Command,
  deps: { db: Db; breaker: BreakerOptions },
  orderId: string,
): Promise<void> {
  const entries = await describeTimeline(deps, orderId, await wholeTimeline(deps.db, orderId));
  if (wantsJson(command)) return print(command, entries);
  const [head, ...lines] = toTable(entries.map(toRow)).trimEnd().split('\n');
  await write([head, ...lines.map((line, index) => line + linesBelow(entries[index]))].join('\n') + '\n');
}

async function wholeTimeline(db: Db, orderId: string): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for (;;) {
    const page = await readTimeline(db, orderId, entries.at(-1)?.position, PAGE);
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

function linesBelow(entry: TimelineEntryBody | undefined): string {
  if (entry?.type !== 'webhook_attempt') {
    // Its attempts follow as entries of their own, if there are any.
    const notSent = entry?.type === 'change' && /^Not sent|^There is no URL/.test(entry.webhook?.last_error ?? '');
    return [entry?.reason, notSent ? entry.webhook?.last_error : null]
      .map((line) => (line == null ? '' : indented(line)))
      .join('');
  }
  const { error, error_detail, webhook_id, response_body, next_attempt_at } = entry;
  return [
    // `webhooks resend` needs the id.
    error === null ? '' : indented(`${error_detail ?? ''} (webhook ${webhook_id})`),
    response_body === '' ? '' : indented(`response: ${shortened(response_body)}`),
    next_attempt_at === null ? '' : indented(`next attempt: ${toSeconds(next_attempt_at)}`),
  ].join('');
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > MAX_RESPONSE ? `${line.slice(0, MAX_RESPONSE)}…` : line;
}

const toSeconds = (time: string): string => `${time.slice(0, 19)}Z`;

const indented = (text: string): string => `\n    ${escapeControls(text)}`;

function toRow(entry: TimelineEntryBody): Row {
  const at = toSeconds(entry.at);
  if (entry.type === 'webhook_attempt') {
    const { sequence, attempt, resend, status, error } = entry;
    const what = `webhook ${sequence}, attempt ${attempt}${resend ? ' (unscheduled)' : ''}`;
    return { at, what, who: 'system', channel: null, outcome: error ?? status };
  }
  const { event, actor, channel } = entry;
  const outcome = entry.type === 'change' ? `${entry.from ?? '-'} -> ${entry.to}` : `refused: ${entry.order_status}`;
  return { at, what: event, who: actor, channel, outcome };
}
