import type { Command } from 'commander';
import { Option } from 'commander';
import type { WebhookState } from '../domain/webhook';
import { WEBHOOK_STATES } from '../domain/webhook';
import type { Db } from '../db/pool';
import { rotateWebhookSecret } from '../db/sellers';
import type { WebhookFilter } from '../db/logged-webhooks';
import { findLoggedWebhook, listWebhooks } from '../db/logged-webhooks';
import { requestResends } from '../db/webhook-events';
import { toWebhookEventBody } from '../orders/webhook-log';
import { generateWebhookSecret } from '../webhooks/sign';
import { hours, integer, time, uuid, uuids } from './arguments';
import { CliError, UsageError } from './errors';
import { print } from './output';
import { accountOf } from './sellers';
import type { Services } from './services';

const PAGE = 500;
const HOUR_MS = 3_600_000;

interface FilterOptions {
  seller?: string;
  state?: WebhookState;
  since?: Date;
  until?: Date;
}

export function addWebhookCommands(program: Command, services: Services): void {
  const webhooks = program.command('webhooks').description('webhooks: the log, and sending them once more');
  addList(webhooks, services);
  addResend(webhooks, services);
  const secrets = program.command('webhook-secret').description('secrets that sign webhooks');
  addRotate(secrets, services);
}

function addList(webhooks: Command, { db }: Services): void {
  withFilter(webhooks.command('list'))
    .description('webhooks, the newest first')
    .option('--after <webhook-id>', 'older than this one: the last that was listed before', uuid)
    .option('--limit <number>', 'this many at the most', integer(1, 10_000), 50)
    .action(
      async ({ after, limit, ...filter }: FilterOptions & { after?: string; limit: number }, command: Command) => {
        const found = await listWebhooks(db(), { ...toFilter(filter), after }, limit);
        if (after !== undefined && found.length === 0 && !(await findLoggedWebhook(db(), after))) {
          throw new CliError(`there is no webhook ${after}`);
        }
        await print(command, found.map(toWebhookEventBody));
      },
    );
}

function addResend(webhooks: Command, { db }: Services): void {
  withFilter(webhooks.command('resend'))
    .description(
      'sends webhooks once more, by their ids, or all that a filter finds; the workers do it within seconds, each in the lane of its order',
    )
    .argument('[webhook-ids...]', 'ids of webhooks', uuids)
    .option('--dry-run', 'tells how many there are, and sends none')
    .action(async (ids: string[] = [], options: FilterOptions & { dryRun?: true }, command: Command) => {
      const { dryRun = false, ...filter } = options;
      if (ids.length > 0 && Object.keys(filter).length > 0) {
        throw new UsageError('name webhooks by their ids or by a filter, not both');
      }
      if (ids.length === 0 && filter.state === undefined) {
        throw new UsageError('name webhooks by their ids, or by --state and more');
      }
      const found =
        ids.length > 0 ? await resendByIds(db(), ids, dryRun) : await resendAll(db(), toFilter(filter), dryRun);
      await print(command, dryRun ? { would_resend: found } : { resending: found });
    });
}

function addRotate(secrets: Command, { db }: Services): void {
  secrets
    .command('rotate')
    .description('makes a new secret, shown this once; the older ones sign beside it for the overlap')
    .argument('<seller-id>', 'id of the seller', uuid)
    .option('--overlap-hours <hours>', 'how long the older ones sign on', hours(168), 24)
    .action(async (sellerId: string, { overlapHours }: { overlapHours: number }, command: Command) => {
      await accountOf(db(), sellerId);
      const secret = generateWebhookSecret();
      const until = await rotateWebhookSecret(db(), sellerId, secret, overlapHours * HOUR_MS);
      await print(
        command,
        { seller_id: sellerId, webhook_secret: secret, previous_valid_until: until ?? null },
        'The secret is shown this once.',
      );
    });
}

function withFilter(command: Command): Command {
  return command
    .option('--seller <seller-id>', 'of this seller only', uuid)
    .addOption(new Option('--state <state>', 'in this state only').choices(WEBHOOK_STATES))
    .option('--since <time>', 'of changes from this time on', time)
    .option('--until <time>', 'of changes before this time', time);
}

const toFilter = ({ seller, state, since, until }: FilterOptions): WebhookFilter => ({
  sellerId: seller,
  state,
  since: since?.toISOString(),
  until: until?.toISOString(),
});

async function resendByIds(db: Db, ids: string[], dryRun: boolean): Promise<number> {
  for (const id of ids) {
    if (!(await findLoggedWebhook(db, id))) throw new CliError(`there is no webhook ${id}; nothing is resent`);
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
