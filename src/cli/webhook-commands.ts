import { type Command, Option } from 'commander';
import { loadAddressPolicy } from '../config';
import { CONSTANTS } from '../config/constants';
import {
  accountAddressRequestSchema,
  DEFAULT_OVERLAP_SECONDS,
  MAX_OVERLAP_SECONDS,
} from '../contracts/webhook-request-schemas';
import { type ListedWebhook, countWebhooksToResend, findWebhook, findWebhooks } from '../db/find-webhooks';
import { isProblem } from '../contracts/problem';
import type { WebhookEventBody } from '../contracts/webhook-schemas';
import { formatPence } from '../domain/money';
import { WEBHOOK_STATES, type WebhookSelection, type WebhookState } from '../domain/webhook';
import { retrieveWebhookEndpoint, rotateSecret, setWebhookEndpoint } from '../orders/webhook-endpoint';
import { describeWebhooks, requestResend, requireContent } from '../orders/webhooks';
import { checkWebhookUrl } from '../webhooks/address-guard';
import { hours, integer, timeOption, uuid, uuids } from './arguments';
import { type ManyOptions, addManyOptions, confirm, requireScope, requireAccount, requireOrderIds } from './selection';
import { CliError, UsageError } from './cli-error';
import { type Row, print, wantsJson } from './output';
import type { Services } from './services';

const HOUR_SECONDS = 3600;
const DEFAULT_OVERLAP_HOURS = DEFAULT_OVERLAP_SECONDS / HOUR_SECONDS;
const MAX_OVERLAP_HOURS = MAX_OVERLAP_SECONDS / HOUR_SECONDS;

interface FilterOptions {
  seller?: string;
  state?: WebhookState;
  since?: Date;
  until?: Date;
  order?: string;
}

interface ListOptions extends FilterOptions {
  after?: string;
  limit: number;
}

type ResendOptions = FilterOptions & ManyOptions;

export function addWebhookCommands(program: Command, services: Services): void {
  const webhooks = program.command('webhooks').description('list and resend webhooks');
  addList(webhooks, services);
  addResend(webhooks, services);
  addEndpoint(program.command('webhook-endpoint').description("manage the accounts' own webhook URLs"), services);
  const secrets = program.command('webhook-secret').description('manage the secrets that sign webhooks');
  addRotate(secrets, services);
}

function addList(webhooks: Command, services: Services): void {
  const list = webhooks.command('list').option('--seller <seller-id>', 'only webhooks of this seller', uuid);
  addFilter(list)
    .description('list webhooks, newest first')
    .option('--after <webhook-id>', 'continue after this webhook, the last one of the previous page', uuid)
    .option('--limit <number>', 'maximum number of webhooks', integer(1, 10_000), 50)
    .action(async ({ after, limit, ...options }: ListOptions, command: Command) => {
      const found = await findWebhooks(services.db(), { ...(await toFilter(services, options)), after }, limit);
      // Without this check, an unknown id looks like the end of the list.
      if (after !== undefined && found.length === 0 && !(await findWebhook(services.db(), after))) {
        throw new CliError(`webhook ${after} does not exist`);
      }
      const bodies = await describeWebhooks(describing(services), found);
      await print(command, wantsJson(command) ? bodies : bodies.map(toRow));
    });
}

function addResend(webhooks: Command, services: Services): void {
  addFilter(addManyOptions(webhooks.command('resend'), 'webhooks'), 'a filter requires it or --order')
    .description(
      'resend webhooks, selected by their ids or by a filter; those of a filter are resent by a workflow, some a second, ' +
        'which you can watch and cancel in the Temporal UI; a seller has one of them at a time',
    )
    .argument('[webhook-ids...]', 'ids of webhooks', uuids)
    .action(async (ids: string[] = [], options: ResendOptions, command: Command) => {
      if (ids.length === 0) return resendAll(services, options, command);
      if (Object.keys(options).length > 0)
        throw new UsageError('select webhooks by their ids or by a filter, not both');
      await resendByIds(services, ids, command);
    });
}

function addEndpoint(endpoint: Command, services: Services): void {
  endpoint
    .command('show')
    .description("show an account's own webhook URL, what it replaces, and the state of the endpoints called lately")
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (sellerId: string, _options: unknown, command: Command) => {
      await requireAccount(services, sellerId);
      await print(command, await retrieveWebhookEndpoint(describing(services), sellerId));
    });
  endpoint
    .command('set')
    .description("set an account's own webhook URL and what it replaces; webhooks that exist already use it too")
    .argument('<seller-id>', 'id of the seller', uuid)
    .option('--url <url>', 'for orders that name no URL')
    .option('--no-url', 'webhooks of orders that name no URL are not sent')
    .option('--replaces <urls...>', 'URLs, or origins without a trailing slash, whose webhooks go to the URL instead')
    .action(async (sellerId: string, options: { url?: string | false; replaces?: string[] }, command: Command) => {
      await requireAccount(services, sellerId);
      if (options.url === undefined) throw new UsageError('pass --url <url> or --no-url');
      const policy = loadAddressPolicy(services.env);
      const rules = { checkWebhookUrl: (url: string) => checkWebhookUrl(url, policy) };
      const { data, error } = accountAddressRequestSchema(rules).safeParse({
        data: { url: options.url === false ? null : options.url, replaces: options.replaces },
      });
      if (error) {
        throw new UsageError(
          error.issues.map(({ path, message }) => `--${String(path[1] ?? 'url')} ${message}`).join('; '),
        );
      }
      await print(command, await setWebhookEndpoint(describing(services), sellerId, data.data));
    });
}

const describing = ({ db }: Services) => ({ db: db(), breaker: CONSTANTS.webhookBreaker });

/** The endpoint as one cell. */
const toRow = ({ endpoint, url, ...webhook }: WebhookEventBody): Row => ({
  ...webhook,
  endpoint: endpoint && `${url} ${endpoint.state ?? ''}`.trim(),
});

function addRotate(secrets: Command, services: Services): void {
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
      await requireAccount(services, sellerId);
      const rotated = await rotateSecret(
        { db: services.db(), keys: services.keys() },
        sellerId,
        overlapHours * HOUR_SECONDS,
      );
      await print(command, { seller_id: sellerId, ...rotated }, 'The secret is shown only once.');
    });
}

function addFilter(command: Command, note?: string): Command {
  const state = ['only webhooks in this state', note].filter((text) => text !== undefined).join('; ');
  return command
    .addOption(new Option('--state <state>', state).choices(WEBHOOK_STATES))
    .option('--order <order>', 'only webhooks of orders with this id or reference')
    .addOption(timeOption('--since', 'only webhooks of changes at or after this time'))
    .addOption(timeOption('--until', 'only webhooks of changes before this time'));
}

const toFilter = async (
  services: Services,
  { seller, state, order, since, until }: FilterOptions,
): Promise<WebhookSelection> => ({
  sellerId: seller,
  state,
  orderIds: order === undefined ? undefined : await requireOrderIds(services, order),
  since: since?.toISOString(),
  until: until?.toISOString(),
});

/** @throws CliError */
const notResent =
  (id: string) =>
  (error: unknown): never => {
    if (isProblem(error, 'not_found')) throw new CliError(`webhook ${id} does not exist; no webhook is resent`);
    if (!isProblem(error, 'webhook_content_deleted')) throw error;
    throw new CliError(`webhook ${id}: its content was deleted; no webhook is resent`);
  };

async function resendByIds(services: Services, ids: string[], command: Command): Promise<void> {
  const db = services.db();
  const selected = new Map<string, ListedWebhook>();
  for (const id of ids) {
    selected.set(id, await requireContent(db, id).catch(notResent(id)));
  }
  const workflows = await services.workflows();
  for (const [id, webhook] of selected) {
    if (await requestResend({ db, workflows }, webhook)) continue;
    throw new CliError(
      `order ${webhook.orderId} waits for reconcile: run that, then repeat this command from webhook ${id}`,
    );
  }
  await print(command, { resending: selected.size });
}

async function resendAll(services: Services, options: ResendOptions, command: Command): Promise<void> {
  const { state, order } = options;
  if (state === undefined && order === undefined)
    throw new UsageError('select webhooks by their ids, or by --state or --order and other filters');
  const owner = await requireScope(services, options);
  const filter = await toFilter(services, options);
  const { webhooks, amountPence } = await countWebhooksToResend(services.db(), filter);
  const question = `Resend ${webhooks} ${state === undefined ? '' : `${state} `}webhooks of ${owner}, of orders of ${formatPence(amountPence)} in all?`;
  await confirm(services, question, options);
  const workflows = await services.workflows();
  const workflow = await workflows.resendWebhooks(filter);
  await print(command, { resending: webhooks, workflow });
}
