import type { Command } from 'commander';
import type { TimelineEntryBody } from '../contracts/webhook-schemas';
import type { Db } from '../db/pool';
import { type TimelineEntry, readTimeline } from '../db/read-timeline';
import type { BreakerOptions } from '../domain/webhook';
import { describeTimeline } from '../orders/timeline';
import { type Row, print, wantsJson } from './output';

const PAGE = 500;
/** Characters of a webhook's response. `--json` has all that is stored. */
const MAX_RESPONSE = 200;

/** Prints the whole timeline of an order: with `--json` as the API returns it. */
export async function printTimeline(
  command: Command,
  deps: { db: Db; breaker: BreakerOptions },
  orderId: string,
): Promise<void> {
  const entries: TimelineEntry[] = [];
  for (let page: TimelineEntry[] | undefined; !page || page.length === PAGE;)
    entries.push(...(page = await readTimeline(deps.db, orderId, entries.at(-1)?.position, PAGE)));
  const described = await describeTimeline(deps, orderId, entries);
  await print(command, wantsJson(command) ? described : described.map(toRow));
}

const toSeconds = (time: string): string => `${time.slice(0, 19)}Z`;

function toRow(entry: TimelineEntryBody): Row {
  const at = toSeconds(entry.at);
  if (entry.type === 'webhook_attempt') {
    const { sequence, attempt, resend, status, error, error_detail, webhook_id, response_body, next_attempt_at } =
      entry;
    const details = [
      // `webhooks resend` needs the id.
      error !== null && `${error_detail ?? ''} (webhook ${webhook_id})`,
      response_body !== '' && `response: ${response_body.trim().replace(/\s+/g, ' ').slice(0, MAX_RESPONSE)}`,
      next_attempt_at !== null && `next attempt: ${toSeconds(next_attempt_at)}`,
    ];
    const what = `webhook ${sequence}, attempt ${attempt}${resend ? ' (unscheduled)' : ''}`;
    return { at, what, by: 'system', outcome: error ?? status, details: details.filter(Boolean).join('; ') };
  }
  const { event, actor, channel, reason } = entry;
  const outcome = entry.type === 'change' ? `${entry.from ?? '-'} -> ${entry.to}` : `refused: ${entry.order_status}`;
  // Its attempts follow as entries of their own, if there are any.
  const [notSent] =
    (entry.type === 'change' && /^(Not sent|There is no URL).*/.exec(entry.webhook?.last_error ?? '')) || [];
  const details = [reason, notSent].filter((one) => one != null).join('; ');
  return { at, what: event, by: `${actor} (${channel})`, outcome, details };
}
