import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { loadDatabaseConfig, loadPortalConfig } from '../config';
import { toPricingBody } from '../contracts/order-mapper';
import { type Branding, describeLogo, findBranding, saveBranding } from '../checkout/db/branding';
import { type Seller, insertSeller, listSellers, setDisabled, updateSeller } from '../db/sellers';
import { createKey } from '../db/api-keys';
import { type DbClient, inTransaction } from '../db/pool';
import { insertWebhookSecret } from '../db/secrets';
import { penceToPounds } from '../domain/money';
import { createPortalLink, toPortalUrl } from '../orders/portal-sessions';
import { generateWebhookSecret } from '../webhooks/sign';
import { type AccountOptions, addAccountOptions, toAccountSettings } from './account-options';
import { printable, uuid } from './arguments';
import { UsageError } from './cli-error';
import { addSellerErase } from './erase-commands';
import { type Row, print, toMode } from './output';
import { requireAccount, sellerNotFound } from './selection';
import type { Services } from './services';

export function addSellerCommands(program: Command, services: Services): void {
  const seller = program.command('seller').description('manage the accounts of sellers');
  addCreate(seller, services);
  addShow(seller, services);
  addList(seller, services);
  addUpdate(seller, services);
  addPortalLink(seller, services);
  addSwitch(
    seller,
    services,
    'disable',
    "reject the seller's keys within a second; its open orders continue: customers can complete them and webhooks are sent",
  );
  addSwitch(seller, services, 'enable', "accept a disabled seller's keys again, except those that were revoked");
  addSellerErase(seller, services);
}

function addCreate(seller: Command, services: Services): void {
  const create = seller
    .command('create')
    .description('create a seller with an API key and a webhook secret, which are shown only once')
    .requiredOption('--name <name>', 'company name, shown to customers')
    .option('--live', 'a live account: a real lender decides, and money moves (this or --sandbox is required)')
    .option('--sandbox', 'a sandbox account: the sandbox lender decides, no money moves; it can never become live');
  addAccountOptions(create, false).action(
    async (
      options: AccountOptions & { name: string; live?: true; sandbox?: true },
      command: Command,
    ): Promise<void> => {
      if (options.live === options.sandbox) throw new UsageError('pass either --live or --sandbox');
      const settings = toAccountSettings(options, loadDatabaseConfig(services.env).production);
      const created = await createSeller(services, options.name, settings, options.sandbox === true);
      await print(command, created, 'The key and the secret are shown only once.');
    },
  );
}

async function createSeller({ db, keys }: Services, name: string, settings: Settings, sandbox: boolean): Promise<Row> {
  const id = randomUUID();
  const webhookSecret = generateWebhookSecret();
  return inTransaction(db(), async (client) => {
    await insertSeller(client, id, name, sandbox);
    await saveSettings(client, id, settings);
    await insertWebhookSecret(client, keys(), id, webhookSecret);
    const key = await createKey(client, id);
    return { seller_id: id, mode: toMode(sandbox), key_id: key.id, api_key: key.key, webhook_secret: webhookSecret };
  });
}

type Settings = ReturnType<typeof toAccountSettings>;

/** @returns false if the seller does not exist */
async function saveSettings(client: DbClient, id: string, { account, branding }: Settings): Promise<boolean> {
  if (!(await updateSeller(client, id, account))) return false;
  await saveBranding(client, id, branding);
  return true;
}

function addShow(seller: Command, services: Services): void {
  seller
    .command('show')
    .description('show one account')
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      await print(command, await readRow(services, id));
    });
}

function addList(seller: Command, services: Services): void {
  seller
    .command('list')
    .description('list accounts, oldest first')
    .argument('[name]', 'only accounts whose name contains this text')
    .action(async (name: string | undefined, _options: unknown, command: Command) => {
      const accounts = await listSellers(services.db(), name);
      const rows = accounts.map(({ id, name: full, sandbox, createdAt, disabledAt }) => ({
        seller_id: id,
        name: full,
        mode: toMode(sandbox),
        created_at: createdAt,
        disabled_at: disabledAt,
      }));
      await print(command, rows);
    });
}

function addPortalLink(seller: Command, services: Services): void {
  seller
    .command('portal-link')
    .description("create a link to the seller's page, which works once, for ten minutes")
    .argument('<seller-id>', 'id of the seller', uuid)
    .option('--user <name>', 'who will use it, for the audit log', printable(100))
    .option('--read-only', 'the page can change nothing')
    .action(async (id: string, { user, readOnly }: { user?: string; readOnly?: true }, command: Command) => {
      await requireAccount(services, id);
      const { api, checkoutBaseUrl } = loadPortalConfig(services.env);
      const deps = { db: services.db(), portalUrl: toPortalUrl(api.publicUrl ?? checkoutBaseUrl) };
      await print(command, await createPortalLink(deps, id, null, { user, read_only: readOnly }));
    });
}

function addUpdate(seller: Command, services: Services): void {
  const update = seller
    .command('update')
    .description(
      'change the given settings: the shop URL, colour, logo, contact email, help URL, rate limit and quotas apply to ' +
        'open orders too; the other settings apply to new orders only',
    )
    .argument('<seller-id>', 'id of the seller', uuid)
    .option('--name <name>', 'company name, shown to customers');
  addAccountOptions(update, true).action(async (id: string, options: AccountOptions, command: Command) => {
    const settings = toAccountSettings(options, loadDatabaseConfig(services.env).production);
    if (Object.keys({ ...settings.account, ...settings.branding }).length === 0)
      throw new UsageError('nothing to update: pass a setting, such as --name');
    const isSaved = await inTransaction(services.db(), (client) => saveSettings(client, id, settings));
    if (!isSaved) throw sellerNotFound(id);
    await print(command, await readRow(services, id));
  });
}

function addSwitch(seller: Command, services: Services, name: 'disable' | 'enable', description: string): void {
  seller
    .command(name)
    .description(description)
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      await setDisabled(services.db(), id, name === 'disable');
      await print(command, await readRow(services, id));
    });
}

async function readRow(services: Services, id: string): Promise<Row> {
  const account = await requireAccount(services, id);
  const db = services.db();
  return toRow(account, await findBranding(db, id), await describeLogo(db, id));
}

function toRow(account: Seller, branding: Branding, logo: { type: string; size: number } | null): Row {
  return {
    seller_id: account.id,
    name: account.name,
    mode: toMode(account.sandbox),
    redirect_url: account.defaultRedirectUrl,
    cancel_url: account.defaultCancelUrl,
    shop_url: branding.shopUrl,
    pricing: toPricingBody(account.pricing),
    brand_colour: branding.colour,
    logo,
    contact_email: branding.contactEmail,
    help_url: branding.helpUrl,
    max_order_amount: account.maxOrderAmountPence === null ? null : penceToPounds(account.maxOrderAmountPence),
    rate_limit: account.rateLimit,
    orders_per_day: account.ordersPerDay,
    bytes_per_day: account.bytesPerDay,
    created_at: account.createdAt,
    disabled_at: account.disabledAt,
  };
}
