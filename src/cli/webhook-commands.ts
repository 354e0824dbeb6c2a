import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from '../contracts/webhook-request-schemas';
import type { Db } from '../db/pool';
import type { StoredOrder } from '../db/find-orders';
import { type WebhookFilter, findListedWebhook, findWebhooks } from '../db/find-webhooks';
import { WEBHOOK_STATES, type WebhookSelection, type WebhookState } from '../domain/webhook';
import { rotateSecret } from '../orders/webhook-endpoint';
import { toWebhookEventBody } from '../orders/webhook-response-mapper';
import { hours, integer, timeOption, uuid, uuids } from './arguments';
import { CliError, UsageError } from './cli-error';
import { print } from './output';
import { requireAccount } from './require-account';
import { requireOrder } from './require-order';
import type { Services } from './services';

const PAGE = 500;
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

function addResend(webhooks: Command, services: Services): void {
  withFilter(webhooks.command('resend'))
    .description(
      'resend webhooks, selected by their ids or by a filter; those of a filter are resent by a workflow, some a second, ' +
        'which you can watch and cancel in the Temporal UI',
    )
    .argument('[webhook-ids...]', 'ids of webhooks', uuids)
    .option('--dry-run', 'only count the selected webhooks')
    .action(async (ids: string[] = [], options: FilterOptions & { dryRun?: true }, command: Command) => {
      const { dryRun = false, ...filter } = options;
      if (ids.length > 0 && Object.keys(filter).length > 0) {
        throw new UsageError('select webhooks by their ids or by a filter, not both');
      }
      const { state } = filter;
      if (ids.length > 0) await resendByIds(services, ids, dryRun, command);
      else if (state === undefined)
        throw new UsageError('select webhooks by their ids, or by --state and other filters');
      else await resendAll(services, { ...toFilter(filter), state }, dryRun, command);
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

async function resendByIds(services: Services, ids: string[], dryRun: boolean, command: Command): Promise<void> {
  const db = services.db();
  const selected = new Map<string, StoredOrder>();
  for (const id of ids) {
    const webhook = await findListedWebhook(db, id);
    if (!webhook) throw new CliError(`webhook ${id} does not exist; no webhook is resent`);
    const stored = await requireOrder(services, webhook.orderId);
    if (stored.workflowVersion !== null) throw new CliError(`order ${webhook.orderId} waits for reconcile`);
    selected.set(id, stored);
  }
  if (dryRun) return print(command, { would_resend: selected.size });
  const workflows = await services.workflows();
  for (const [id, order] of selected) await workflows.resendWebhook(order, id);
  await print(command, { resending: selected.size });
}

async function resendAll(
  services: Services,
  filter: WebhookFilter & WebhookSelection,
  dryRun: boolean,
  command: Command,
): Promise<void> {
  const found = await countWebhooks(services.db(), filter);
  if (dryRun) return print(command, { would_resend: found });
  const workflows = await services.workflows();
  const workflow = await workflows.resendWebhooks(filter, services.audit.actionId ?? randomUUID());
  await print(command, { resending: found, workflow });
}

async function countWebhooks(db: Db, filter: WebhookFilter): Promise<number> {
  let found = 0;
  for (let after: string | undefined; ;) {
    const page = await findWebhooks(db, { ...filter, after }, PAGE);
    found += page.length;
    if (page.length < PAGE) return found;
    after = page.at(-1)?.id;
  }
}
