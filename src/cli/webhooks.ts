import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { WebhookState } from '../contracts/webhook-log';
import { WEBHOOK_STATES } from '../contracts/webhook-log';
import type { Db } from '../db/pool';
import { rotateWebhookSecret } from '../db/sellers';
import type { LoggedWebhook, WebhookFilter } from '../db/webhook-log';
import { findLoggedWebhook, listWebhooks } from '../db/webhook-log';
import { requestResends } from '../db/webhooks';
import { generateWebhookSecret } from '../webhooks/sign';

const PAGE = 500;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface CliTools {
  withDatabase: <T>(work: (db: Db) => Promise<T>) => Promise<T>;
  print: (answer: unknown) => void;
  /** Ends the process with a line on stderr. */
  fail: (message: string) => never;
}

interface FilterOptions {
  seller?: string;
  state?: WebhookState;
  since?: string;
  until?: string;
}

/** `webhooks list` and `webhooks resend`. */
export function addWebhookCommands(program: Command, { withDatabase, print, fail }: CliTools): void {
  const webhooks = program.command('webhooks').description('webhooks: the log, and sending them once more');

  withFilter(webhooks.command('list'))
    .description('lists webhooks, the newest first')
    .option('--limit <count>', 'how many at the most', count, 50)
    .action(async ({ limit, ...filter }: FilterOptions & { limit: number }) => {
      print((await withDatabase((db) => listWebhooks(db, toFilter(filter), limit))).map(toAnswer));
    });

  withFilter(webhooks.command('resend'))
    .description(
      'sends webhooks once more, by their ids, or all that a filter finds; the workers do it within seconds, each in the lane of its order',
    )
    .argument('[ids...]', 'ids of webhooks')
    .option('--dry-run', 'tells how many there are, and sends none')
    .action(async (ids: string[], { dryRun = false, ...filter }: FilterOptions & { dryRun?: boolean }) => {
      if (ids.length > 0 && Object.keys(filter).length > 0) fail('name webhooks by their ids or by a filter, not both');
      if (ids.length === 0 && filter.state === undefined) fail('name webhooks by their ids, or by --state and more');
      const found = await withDatabase((db) =>
        ids.length > 0 ? resendByIds(db, ids, dryRun, fail) : resendAll(db, toFilter(filter), dryRun),
      );
      print(dryRun ? { would_resend: found } : { resending: found });
    });
}

/** `webhook-secret rotate`. */
export function addSecretCommands(program: Command, { withDatabase, print, fail }: CliTools): void {
  program
    .command('webhook-secret')
    .description('secrets that sign webhooks')
    .command('rotate')
    .description('makes a new secret, shown this once; the older ones sign beside it for the overlap')
    .requiredOption('--seller <id>', 'id of the seller', uuid)
    .option('--overlap-hours <hours>', 'how long the older ones sign on', hours, 24)
    .action(async ({ seller, overlapHours }: { seller: string; overlapHours: number }) => {
      const secret = generateWebhookSecret();
      const until = await withDatabase((db) => rotateWebhookSecret(db, seller, secret, overlapHours * 3_600_000));
      if (until === undefined) fail(`there is no seller ${seller}`);
      print({ webhook_secret: secret, previous_valid_until: until?.toISOString() ?? null });
    });
}

function withFilter(command: Command): Command {
  return command
    .option('--seller <id>', 'of one seller', uuid)
    .addOption(new Option('--state <state>', 'in this state').choices(WEBHOOK_STATES))
    .option('--since <time>', 'of changes from this time on, ISO 8601', time)
    .option('--until <time>', 'of changes before this time, ISO 8601', time);
}

const toFilter = ({ seller, ...rest }: FilterOptions): WebhookFilter => ({ sellerId: seller, ...rest });

async function resendByIds(db: Db, ids: string[], dryRun: boolean, fail: CliTools['fail']): Promise<number> {
  for (const id of ids) {
    if (!UUID.test(id) || !(await findLoggedWebhook(db, id))) fail(`there is no webhook ${id}; nothing is resent`);
  }
  if (!dryRun) await requestResends(db, ids, 0);
  return new Set(ids).size;
}

async function resendAll(db: Db, filter: WebhookFilter, dryRun: boolean): Promise<number> {
  let found = 0;
  for (let after: string | undefined; ;) {
    const ids = (await listWebhooks(db, { ...filter, after }, PAGE)).map(({ id }) => id);
    if (!dryRun && ids.length > 0) await requestResends(db, ids, 0);
    found += ids.length;
    if (ids.length < PAGE) return found;
    after = ids.at(-1);
  }
}

function toAnswer({ orderId, createdAt, nextAttemptAt, resendAt, ...rest }: LoggedWebhook) {
  return { ...rest, order_id: orderId, created_at: createdAt, next_attempt_at: nextAttemptAt, resend_at: resendAt };
}

function uuid(text: string): string {
  if (!UUID.test(text)) throw new InvalidArgumentError('It must be a UUID.');
  return text;
}

function time(text: string): string {
  const date = new Date(text);
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('It must be a time in ISO 8601, such as 2026-11-21T09:00:00Z.');
  }
  return date.toISOString();
}

function count(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 10_000) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 10000.');
  }
  return number;
}

function hours(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0 && number <= 168)) {
    throw new InvalidArgumentError('It must be from 0 to 168 hours.');
  }
  return number;
}
