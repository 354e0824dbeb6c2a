import type { Command } from 'commander';
import type { KeyOwner, ListedKey } from '../db/api-keys';
import { createKey, listKeys, revokeKey } from '../db/api-keys';
import { keyId, printable, uuid } from './arguments';
import { CliError } from './errors';
import type { Row } from './output';
import { print } from './output';
import { accountOf } from './sellers';
import type { Services } from './services';

const SHOWN_ONCE = 'The key is shown this once.';
const LABEL = ['--label <text>', 'what the key is for', printable(100)] as const;

interface Labelled {
  label?: string;
}

export function addSellerKeyCommands(program: Command, services: Services): void {
  const key = program.command('key').description("sellers' keys");
  addSellerKeyCreate(key, services);
  addSellerKeyList(key, services);
  addRevoke(key, 'seller', services);
}

function addSellerKeyCreate(key: Command, services: Services): void {
  key
    .command('create')
    .description('makes a key, shown this once; several may be live, so that a seller can change over')
    .argument('<seller-id>', 'id of the seller', uuid)
    .option(...LABEL)
    .action(async (sellerId: string, { label }: Labelled, command: Command) => {
      await accountOf(services.db(), sellerId);
      const made = await createKey(services.db(), { kind: 'seller', sellerId }, label);
      await print(command, { seller_id: sellerId, key_id: made.id, api_key: made.key }, SHOWN_ONCE);
    });
}

function addSellerKeyList(key: Command, services: Services): void {
  key
    .command('list')
    .description('the keys of a seller, the oldest first')
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (sellerId: string, _options: unknown, command: Command) => {
      await accountOf(services.db(), sellerId);
      await print(command, (await listKeys(services.db(), { kind: 'seller', sellerId })).map(toRow));
    });
}

export function addCheckoutKeyCommands(program: Command, services: Services): void {
  const key = program.command('checkout-key').description('keys of the checkout flow');
  addCheckoutKeyCreate(key, services);
  addCheckoutKeyList(key, services);
  addRevoke(key, 'checkout', services);
}

function addCheckoutKeyCreate(key: Command, services: Services): void {
  key
    .command('create')
    .description('makes a key that may report the progress of every order, shown this once')
    .option(...LABEL)
    .action(async ({ label }: Labelled, command: Command) => {
      const made = await createKey(services.db(), { kind: 'checkout' }, label);
      await print(command, { key_id: made.id, checkout_key: made.key }, SHOWN_ONCE);
    });
}

function addCheckoutKeyList(key: Command, services: Services): void {
  key
    .command('list')
    .description('the keys of the checkout flow, the oldest first')
    .action(async (_options: unknown, command: Command) => {
      await print(command, (await listKeys(services.db(), { kind: 'checkout' })).map(toRow));
    });
}

function addRevoke(parent: Command, kind: KeyOwner['kind'], services: Services): void {
  parent
    .command('revoke')
    .description('has a key work no longer, at once and for good')
    .argument('<key-id>', 'number of the key', keyId)
    .action(async (id: number, _options: unknown, command: Command) => {
      const revokedAt = await revokeKey(services.db(), id, kind);
      if (!revokedAt) throw new CliError(`there is no ${kind} key ${id}`);
      await print(command, { key_id: id, revoked_at: revokedAt });
    });
}

function toRow({ id, startsWith, label, createdAt, revokedAt }: ListedKey): Row {
  return { key_id: id, starts_with: startsWith, label, created_at: createdAt, revoked_at: revokedAt };
}
