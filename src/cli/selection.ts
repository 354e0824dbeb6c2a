import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import { type Seller, findSeller } from '../db/sellers';
import { findOrderIds, findOrdersById } from '../db/list-orders';
import { type StoredOrder, findOrder, findOrderByPayLink } from '../db/orders';
import { penceToPounds } from '../domain/money';
import { isUuid } from '../domain/text';
import { AmbiguousError, CliError, UsageError } from './cli-error';
import type { Services } from './services';
import { uuid } from './arguments';

/** Of an ambiguous reference. */
const MAX_LISTED = 20;

/** @throws CliError if the seller does not exist */
export async function requireAccount({ db }: Services, sellerId: string): Promise<Seller> {
  const account = await findSeller(db(), sellerId);
  if (!account) throw sellerNotFound(sellerId);
  return account;
}

export function sellerNotFound(id: string): CliError {
  return new CliError(`seller ${id} does not exist`);
}

/**
 * Finds one order.
 * @param text its id or its reference
 * @throws CliError if there is none, or AmbiguousError with the orders that have the reference
 */
export async function requireOrderArgument(services: Services, text: string): Promise<StoredOrder> {
  const db = services.db();
  const ids = await requireOrderIds(services, text);
  const orders = await findOrdersById(db, ids.slice(0, MAX_LISTED));
  if (ids.length === 1 && orders[0]) return orders[0];
  const rows = orders
    .sort((one, other) => other.createdAt.localeCompare(one.createdAt))
    .map((order) => ({
      id: order.id,
      seller_name: order.sellerName,
      amount: penceToPounds(order.amountPence),
      status: order.status,
      created_at: order.createdAt,
    }));
  throw new AmbiguousError(`${ids.length} orders have the reference ${text}: pass the id of one`, rows);
}

/**
 * Finds orders by their id, their pay link or their reference, newest first.
 * @throws CliError if there is none
 */
export async function requireOrderIds({ db }: Services, text: string): Promise<string[]> {
  const [, payLinkId] = /\/pay\/([0-9a-f-]{36})\b/i.exec(text) ?? [];
  const byLink = payLinkId !== undefined && isUuid(payLinkId) ? await findOrderByPayLink(db(), payLinkId) : undefined;
  const order = byLink ?? (isUuid(text) ? await findOrder(db(), text) : undefined);
  const ids = order ? [order.id] : await findOrderIds(db(), text.normalize('NFC'));
  if (ids.length === 0) throw new CliError(`order ${text} does not exist`);
  return ids;
}

/** The options of a command that changes what a filter selects. */
export interface ManyOptions {
  seller?: string;
  allSellers?: true;
  yes?: true;
}

export function addManyOptions(command: Command, what: string): Command {
  return command
    .option('--seller <seller-id>', `${what} of this seller; a filter requires this option or --all-sellers`, uuid)
    .addOption(new Option('--all-sellers', `${what} of all sellers`).conflicts('seller'))
    .option('--yes', 'do not ask whether to change what a filter or a reference selects');
}

/**
 * Returns the name of the seller whose orders or webhooks are selected, for a question.
 * @throws UsageError unless the options name a seller, or all
 */
export async function requireScope(services: Services, { seller, allSellers }: ManyOptions): Promise<string> {
  if (seller !== undefined) return (await requireAccount(services, seller)).name;
  if (allSellers) return 'all sellers';
  throw new UsageError('a filter requires --seller <seller-id> or --all-sellers');
}

/** Asks a question, unless `--yes` was given. @throws CliError unless the answer is yes */
export async function confirm({ input }: Services, question: string, { yes }: ManyOptions): Promise<void> {
  if (yes) return;
  const lines = createInterface({ input, output: process.stderr });
  const answered = once(lines, 'line') as Promise<[string]>;
  const ended = once(lines, 'close').then((): [string] => ['']);
  lines.setPrompt(`${question} [y/N] `);
  lines.prompt();
  const [answer] = await Promise.race([answered, ended]);
  lines.close();
  if (!process.stdin.isTTY) process.stderr.write('\n');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was changed: answer y, or pass --yes');
}
