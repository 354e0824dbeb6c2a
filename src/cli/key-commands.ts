import type { Command } from 'commander';
import { type KeyOwner, type ListedKey, createKey, findKeys, listKeys, revokeKey } from '../db/api-keys';
import { keyBeginning, keyId, printable, uuid } from './arguments';
import { CliError } from './cli-error';
import { type Row, print } from './output';
import { requireAccount } from './selection';
import type { Services } from './services';

const SHOWN_ONCE = 'The key is shown only once.';
const LABEL = ['--label <text>', 'what the key is for', printable(100)] as const;

interface LabelOption {
  label?: string;
}

export function addSellerKeyCommands(program: Command, services: Services): void {
  const key = program.command('key').description('manage the API keys of sellers');
  addSellerKeyCreate(key, services);
  addSellerKeyList(key, services);
  addKeyFind(key, services);
  addRevoke(key, 'seller', services);
}

function addKeyFind(key: Command, services: Services): void {
  key
    .command('find')
    .description('find the owner of a key that was found somewhere, by its first characters, of all kinds')
    .argument('<beginning>', 'the first eight characters of the key or more, but never the whole key', keyBeginning)
    .action(async (beginning: string, _options: unknown, command: Command) => {
      const keys = await findKeys(services.db(), beginning);
      await print(
        command,
        keys.map(({ kind, sellerId, sellerName, ...listed }) => ({
          kind,
          seller_id: sellerId,
          seller_name: sellerName,
          ...toRow(listed),
        })),
      );
    });
}

function addSellerKeyCreate(key: Command, services: Services): void {
  key
    .command('create')
    .description('create a key, which is shown only once; a seller can have several active keys')
    .argument('<seller-id>', 'id of the seller', uuid)
    .option(...LABEL)
    .action(async (sellerId: string, { label }: LabelOption, command: Command) => {
      await requireAccount(services, sellerId);
      const { id, key: apiKey } = await createKey(services.db(), { kind: 'seller', sellerId }, label);
      await print(command, { seller_id: sellerId, key_id: id, api_key: apiKey }, SHOWN_ONCE);
    });
}

function addSellerKeyList(key: Command, services: Services): void {
  key
    .command('list')
    .description('list the keys of a seller, oldest first')
    .argument('<seller-id>', 'id of the seller', uuid)
    .action(async (sellerId: string, _options: unknown, command: Command) => {
      await requireAccount(services, sellerId);
      await print(command, (await listKeys(services.db(), { kind: 'seller', sellerId })).map(toRow));
    });
}

export function addCheckoutKeyCommands(program: Command, services: Services): void {
  const key = program.command('checkout-key').description('manage the keys of the checkout flow');
  addCheckoutKeyCreate(key, services);
  addCheckoutKeyList(key, services);
  addRevoke(key, 'checkout', services);
}

function addCheckoutKeyCreate(key: Command, services: Services): void {
  key
    .command('create')
    .description('create a key that can report the progress of every order; it is shown only once')
    .option(...LABEL)
    .action(async ({ label }: LabelOption, command: Command) => {
      const { id, key: checkoutKey } = await createKey(services.db(), { kind: 'checkout' }, label);
      await print(command, { key_id: id, checkout_key: checkoutKey }, SHOWN_ONCE);
    });
}

function addCheckoutKeyList(key: Command, services: Services): void {
  key
    .command('list')
    .description('list the keys of the checkout flow, oldest first')
    .action(async (_options: unknown, command: Command) => {
      await print(command, (await listKeys(services.db(), { kind: 'checkout' })).map(toRow));
    });
}

function addRevoke(parent: Command, kind: KeyOwner['kind'], services: Services): void {
  parent
    .command('revoke')
    .description('revoke a key permanently; it stops working within a second')
    .argument('<key-id>', 'id of the key, as list shows it', keyId)
    .action(async (id: number, _options: unknown, command: Command) => {
      const revokedAt = await revokeKey(services.db(), id, kind);
      if (!revokedAt) throw new CliError(`${kind} key ${id} does not exist`);
      await print(command, { key_id: id, revoked_at: revokedAt });
    });
}

function toRow({ id, startsWith, label, createdAt, lastUsedAt, revokedAt }: ListedKey): Row {
  return {
    ...{ key_id: id, starts_with: startsWith, label, created_at: createdAt },
    ...{ last_used_at: lastUsedAt, revoked_at: revokedAt },
  };
}
