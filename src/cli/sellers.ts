import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { loadDatabaseConfig } from '../config';
import { toPricingBody } from '../contracts/order';
import type { Account, AccountSettings } from '../db/accounts';
import { findAccount, listAccountChanges, listAccounts, setDisabled, updateAccount } from '../db/accounts';
import { createKey } from '../db/api-keys';
import type { DbClient } from '../db/pool';
import { inTransaction } from '../db/pool';
import { insertSeller, insertWebhookSecret } from '../db/sellers';
import { penceToPounds } from '../domain/money';
import { generateWebhookSecret } from '../webhooks/sign';
import type { AccountOptions } from './account-options';
import { addAccountOptions, toAccountSettings } from './account-options';
import { uuid } from './arguments';
import { CliError, UsageError } from './errors';
import type { Row } from './output';
import { print } from './output';
import type { Services } from './services';

export function addSellerCommands(program: Command, services: Services): void {
  const seller = program.command('seller').description('accounts of sellers');
  addCreate(seller, services);
  addShow(seller, services);
  addList(seller, services);
  addUpdate(seller, services);
  addSwitch(seller, services, {
    name: 'disable',
    disabled: true,
    description:
      "has the seller's keys work no longer, at once; its open orders go on: customers can finish them, webhooks are sent",
  });
  addSwitch(seller, services, {
    name: 'enable',
    disabled: false,
    description: 'undoes disable; keys that were revoked stay revoked',
  });
  addHistory(seller, services);
}

function addCreate(seller: Command, services: Services): void {
  const create = seller
    .command('create')
    .description('makes a seller with a key and a webhook secret, both shown this once')
    .requiredOption('--name <name>', 'company name, shown to customers');
  addAccountOptions(create, false).action(
    async (options: AccountOptions & { name: string }, command: Command): Promise<void> => {
      const settings = toAccountSettings(options, loadDatabaseConfig(services.env).production);
      const created = await createSeller(services, { ...settings, name: options.name });
      await print(command, created, 'Key and secret are shown this once.');
    },
  );
}

async function createSeller({ db }: Services, settings: Partial<AccountSettings> & { name: string }): Promise<Row> {
  const id = randomUUID();
  const webhookSecret = generateWebhookSecret();
  return inTransaction(db(), async (client) => {
    await insertSeller(client, { id, name: settings.name, defaultRedirectUrl: null });
    await updateAccount(client, id, settings);
    await insertWebhookSecret(client, id, webhookSecret);
    const key = await createKey(client, { kind: 'seller', sellerId: id });
    return { seller_id: id, key_id: key.id, api_key: key.key, webhook_secret: webhookSecret };
  });
}

function addShow(seller: Command, services: Services): void {
  seller
    .command('show')
    .description('one account')
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      await print(command, toRow(await accountOf(services.db(), id)));
    });
}

function addList(seller: Command, services: Services): void {
  seller
    .command('list')
    .description('all accounts, the oldest first')
    .action(async (_options: unknown, command: Command) => {
      const accounts = await listAccounts(services.db());
      const rows = accounts.map(({ id, name, createdAt, disabledAt }) => ({
        seller_id: id,
        name,
        created_at: createdAt,
        disabled_at: disabledAt,
      }));
      await print(command, rows);
    });
}

function addUpdate(seller: Command, services: Services): void {
  const update = seller
    .command('update')
    .description(
      'sets what is given: shop URL, colour, logo and rate limit at once, for open orders too; the rest for orders from now on',
    )
    .argument('<seller-id>', 'id of the seller', uuid)
    .option('--name <name>', 'company name, shown to customers');
  addAccountOptions(update, true).action(async (id: string, options: AccountOptions, command: Command) => {
    const settings = toAccountSettings(options, loadDatabaseConfig(services.env).production);
    if (Object.keys(settings).length === 0) throw new UsageError('there is nothing to update: give an option');
    if (!(await updateAccount(services.db(), id, settings))) throw noSeller(id);
    await print(command, toRow(await accountOf(services.db(), id)));
  });
}

interface Switch {
  name: string;
  disabled: boolean;
  description: string;
}

function addSwitch(seller: Command, services: Services, { name, disabled, description }: Switch): void {
  seller
    .command(name)
    .description(description)
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      await setDisabled(services.db(), id, disabled);
      await print(command, toRow(await accountOf(services.db(), id)));
    });
}

function addHistory(seller: Command, services: Services): void {
  seller
    .command('history')
    .description('what operators set in an account, the oldest first')
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      await accountOf(services.db(), id);
      const lines = await listAccountChanges(services.db(), id);
      const rows = lines.map(({ at, changes }) => ({ at, changes }));
      await print(command, rows);
    });
}

/** @throws CliError where there is no such seller */
export async function accountOf(db: DbClient, sellerId: string): Promise<Account> {
  const account = await findAccount(db, sellerId);
  if (!account) throw noSeller(sellerId);
  return account;
}

function noSeller(id: string): CliError {
  return new CliError(`there is no seller ${id}`);
}

function toRow(account: Account): Row {
  return {
    seller_id: account.id,
    name: account.name,
    redirect_url: account.defaultRedirectUrl,
    shop_url: account.shopUrl,
    pricing: toPricingBody(account.pricing),
    brand_colour: account.brandColour,
    logo: account.logo,
    max_order_amount: account.maxAmountPence === null ? null : penceToPounds(account.maxAmountPence),
    rate_limit: account.rateLimit,
    created_at: account.createdAt,
    disabled_at: account.disabledAt,
  };
}
