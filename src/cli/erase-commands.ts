import { type Command, Option } from 'commander';
import {
  deleteBranding,
  eraseApplications,
  exportCheckout,
  findOrdersOfCustomer,
} from '../checkout/db/old-checkout-data';
import {
  type ErasableOrder,
  eraseOrders,
  eraseSeller,
  exportOrders,
  findErasable,
  findObstacle,
  lockErasable,
} from '../db/erase';
import { readOrders } from '../db/list-orders';
import { type Db, inTransaction } from '../db/pool';
import { penceToPounds } from '../domain/money';
import { printable, uuid } from './arguments';
import { CliError, UsageError } from './cli-error';
import { type Row, print, toTable, write } from './output';
import { confirm, requireAccount, requireOrderArgument } from './selection';
import type { Services } from './services';

const ERASED =
  'applications, metadata, sources, paths of URLs, reasons, and the content of webhooks with the answers of endpoints';
const KEPT = 'Amounts, references, statuses, times, sellers, agreements and payments stay, for the accounts';

interface Customer {
  email?: string;
  company?: string;
  order?: string;
}

export function addCustomerCommands(program: Command, services: Services): void {
  const customer = program.command('customer').description('export or erase the data of a customer');
  withCustomer(customer.command('export'))
    .description('print what is stored about a customer, as JSON')
    .action(async (options: Customer) => {
      const db = services.db();
      const orders = await exportOrders(db, await requireOrdersOf(services, options));
      const held = [];
      for (const { id, held: order } of orders) held.push({ ...order, ...(await exportCheckout(db, id)) });
      await write(`${JSON.stringify(held, null, 2)}\n`);
    });
  withCustomer(customer.command('erase'))
    .description(
      `erase what closed orders hold about a customer: ${ERASED}. ${KEPT}. Refused for an order that is open, or has ` +
        'a pending webhook or a payment that is not settled',
    )
    .option('--yes', 'do not ask')
    .action(async ({ yes, ...options }: Customer & { yes?: true }, command: Command) => {
      const found = await findErasable(services.db(), await requireOrdersOf(services, options));
      const count = found.filter(({ obstacle }) => obstacle === null).length;
      if (!yes) process.stderr.write(toTable(found.map((order) => toRow(order, 'erase'))));
      if (count > 0) await confirm(services, `Erase of ${count} orders: ${ERASED}? ${KEPT}.`, yes ? { yes } : {});
      const outcome = await erase(
        services.db(),
        found.map(({ id }) => id),
      );
      await services.audit.addDetails({ erased: outcome.filter(isErased).map(({ id }) => id) });
      services.foundTrouble = !outcome.every(isErased);
      await print(
        command,
        outcome.map((order) => toRow(order, 'erased')),
      );
    });
}

function withCustomer(command: Command): Command {
  return command
    .addOption(
      new Option('--email <address>', 'the orders that this email address has applied for')
        .argParser(printable(320))
        .conflicts(['company', 'order']),
    )
    .addOption(
      new Option('--company <number>', 'the orders that the company with this number has applied for')
        .argParser(printable(100))
        .conflicts('order'),
    )
    .option('--order <order>', 'the order with this id or reference');
}

/** @throws CliError if there is none, UsageError if none is named */
async function requireOrdersOf(services: Services, { order, ...person }: Customer): Promise<string[]> {
  if (order !== undefined) return [(await requireOrderArgument(services, order)).id];
  if (Object.keys(person).length === 0) throw new UsageError('pass --email, --company or --order');
  const ids = await findOrdersOfCustomer(services.db(), person);
  if (ids.length > 0) return ids;
  throw new CliError('no application of this customer is stored: pass --order for an order whose application is gone');
}

const isErased = ({ obstacle }: ErasableOrder): boolean => obstacle === null;

/** Erases the orders that have no obstacle. @returns all of them, as they were found then */
function erase(db: Db, orderIds: readonly string[]): Promise<ErasableOrder[]> {
  return inTransaction(db, async (client) => {
    const found = await lockErasable(client, orderIds);
    const ids = found.filter(isErased).map(({ id }) => id);
    await eraseApplications(client, ids);
    await eraseOrders(client, ids);
    return found;
  });
}

const toRow = ({ id, reference, amountPence, status, obstacle }: ErasableOrder, outcome: string): Row => ({
  order_id: id,
  reference,
  amount: penceToPounds(amountPence),
  status,
  outcome: obstacle === null ? outcome : 'refused',
  reason: obstacle,
});

export function addSellerErase(seller: Command, services: Services): void {
  seller
    .command('erase')
    .description(
      'erase an account that is no longer used, and what its orders hold about customers: its keys are revoked, its ' +
        `secrets, URLs, contacts and logo deleted, and of its orders ${ERASED}. Its name stays. ${KEPT}. Refused while ` +
        'an order is open, or has a pending webhook or a payment that is not settled',
    )
    .argument('<seller-id>', 'id of the seller', uuid)
    .option('--yes', 'do not ask')
    .action(async (sellerId: string, options: { yes?: true }, command: Command) => {
      const { name } = await requireAccount(services, sellerId);
      const db = services.db();
      const refused = await findObstacle(db, sellerId);
      if (refused) throw new CliError(`nothing was changed: of order ${refused.id}, ${refused.obstacle}`);
      const question = `Erase the account of ${name}, its keys and settings, and of its orders: ${ERASED}? ${KEPT}.`;
      await confirm(services, question, options);
      await inTransaction(db, async (client) => {
        await eraseSeller(client, sellerId);
        await deleteBranding(client, sellerId);
      });
      const counts = { orders_erased: 0, orders_refused: 0 };
      for await (const page of readOrders(db, { sellerId })) {
        for (const order of await erase(
          db,
          page.map(({ id }) => id),
        ))
          counts[isErased(order) ? 'orders_erased' : 'orders_refused'] += 1;
      }
      services.foundTrouble = counts.orders_refused > 0;
      await print(command, { seller_id: sellerId, ...counts });
    });
}
