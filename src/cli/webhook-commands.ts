import { type Command, Option } from 'commander';
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from '../contracts/webhook-request-schemas';
import type { Db } from '../db/pool';
import { type WebhookFilter, findListedWebhook, findWebhooks } from '../db/find-webhooks';
import { requestResends } from '../db/webhook-events';
import { WEBHOOK_STATES, type WebhookState } from '../domain/webhook';
import { rotateSecret } from '../orders/webhook-endpoint';
import { toWebhookEventBody } from '../orders/webhook-response-mapper';
import { hours, integer, timeOption, uuid, uuids } from './arguments';
import { CliError, UsageError } from './cli-error';
import { print } from './output';
import { requireAccount } from './require-account';
import type { Services } from './services';

const PAGE = 500;
/** Between two resends of a selection: without it, the resends of 20,000 webhooks would delay all other webhooks. */
const RESEND_GAP_MS = 100;
const HOUR_SECONDS = 3600;
const DEFAULT_OVERLAP_HOURS = DEFAULT_OVERLAP_SECONDS / HOUR_SECONDS;
const MAX_OVERLAP_HOURS = MAX_OVERLAP_SECONDS / HOUR_SECONDS;

interface FilterOptions {
  seller?: string;
  state?: WebhookState;
  since?: Date;
  until?: Date;
}

export function addWebhookCommands(program: Command, services: Services): void {
  const webhooks = program.command('webhooks').description('list and resend webhooks');
  addList(webhooks, services);
  addResend(webhooks, services);
  const secrets = program.command('webhook-secret').description('manage the secrets that sign webhooks');
  addRotate(secrets, services);
}

function addList(webhooks: Command, { db }: Services): void {
  withFilter(webhooks.command('list'))
    .description('list webhooks, newest first')
    .option('--after <webhook-id>', 'continue after this webhook, the last one of the previous page', uuid)
    .option('--limit <number>', 'maximum number of webhooks', integer(1, 10_000), 50)
    .action(
      async ({ after, limit, ...filter }: FilterOptions & { after?: string; limit: number }, command: Command) => {
        const found = await findWebhooks(db(), { ...toFilter(filter), after }, limit);
        // Without this check, an unknown id looks like the end of the list.
        if (after !== undefined && found.length === 0 && !(await findListedWebhook(db(), after))) {
          throw new CliError(`webhook ${after} does not exist`);
        }
        await print(command, found.map(toWebhookEventBody));
      },
    );
}

function addResend(webhooks: Command, { db }: Services): void {
  withFilter(webhooks.command('resend'))
    .description(
      'resend webhooks, selected by their ids or by a filter; the workers send them one at a time for each order: ' +
        'those of a few ids within seconds, those of a filter at ten per second',
    )
    .argument('[webhook-ids...]', 'ids of webhooks', uuids)
    .option('--dry-run', 'only count the selected webhooks')
    .action(async (ids: string[] = [], options: FilterOptions & { dryRun?: true }, command: Command) => {
      const { dryRun = false, ...filter } = options;
      if (ids.length > 0 && Object.keys(filter).length > 0) {
        throw new UsageError('select webhooks by their ids or by a filter, not both');
      }
      if (ids.length === 0 && filter.state === undefined) {
        throw new UsageError('select webhooks by their ids, or by --state and other filters');
      }
      const found =
        ids.length > 0 ? await resendByIds(db(), ids, dryRun) : await resendAll(db(), toFilter(filter), dryRun);
      await print(command, dryRun ? { would_resend: found } : { resending: found });
    });
}

function addRotate(secrets: Command, { db, keys }: Services): void {
  secrets
    .command('rotate')
    .description('create a new secret, which is shown only once; older secrets stay active until the overlap ends')
    .argument('<seller-id>', 'id of the seller', uuid)
    .option(
      '--overlap-hours <hours>',
      'how long older secrets stay active',
      hours(MAX_OVERLAP_HOURS),
      DEFAULT_OVERLAP_HOURS,
    )
    .action(async (sellerId: string, { overlapHours }: { overlapHours: number }, command: Command) => {
      await requireAccount(db(), sellerId);
      const rotated = await rotateSecret({ db: db(), keys: keys() }, sellerId, overlapHours * HOUR_SECONDS);
      await print(command, { seller_id: sellerId, ...rotated }, 'The secret is shown only once.');
    });
}

function withFilter(command: Command): Command {
  return command
    .option('--seller <seller-id>', 'only webhooks of this seller', uuid)
    .addOption(new Option('--state <state>', 'only webhooks in this state').choices(WEBHOOK_STATES))
    .addOption(timeOption('--since', 'only webhooks of changes at or after this time'))
    .addOption(timeOption('--until', 'only webhooks of changes before this time'));
}

const toFilter = ({ seller, state, since, until }: FilterOptions): WebhookFilter => ({
  sellerId: seller,
  state,
  since: since?.toISOString(),
  until: until?.toISOString(),
});

/** @returns the number of webhooks */
async function resendByIds(db: Db, ids: string[], dryRun: boolean): Promise<number> {
  for (const id of ids) {
    if (!(await findListedWebhook(db, id))) throw new CliError(`webhook ${id} does not exist; no webhook is resent`);
  }
  if (!dryRun) await requestResends(db, ids, 0);
  return new Set(ids).size;
}

/** @returns the number of webhooks */
async function resendAll(db: Db, filter: WebhookFilter, dryRun: boolean): Promise<number> {
  let found = 0;
  for (let after: string | undefined; ;) {
    const ids = (await findWebhooks(db, { ...filter, after }, PAGE)).map(({ id }) => id);
    if (!dryRun && ids.length > 0) await requestResends(db, ids, found * RESEND_GAP_MS, RESEND_GAP_MS);
    found += ids.length;
    if (ids.length < PAGE) return found;
    after = ids.at(-1);
  }
}
