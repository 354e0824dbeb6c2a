import type { Command } from 'commander';
import { type KeyKind, type ListedKey, createKey, findKeys, listKeys, revokeKey } from '../db/api-keys';
import { keyBeginning, keyId, printable, uuid } from './arguments';
import { CliError } from './cli-error';
import { type Row, print } from './output';
import { requireAccount } from './selection';
import type { Services } from './services';

export function addKeyCommands(program: Command, services: Services): void {
  const key = program.command('key').description('manage the API keys of sellers');
  addCommands(key, 'seller', services);
  key
    .command('find')
    .description('find the owner of a key that was found somewhere, by its first characters, of all kinds')
    .argument('<beginning>', 'the first eight characters of the key or more, but never the whole key', keyBeginning)
    .action(async (beginning: string, _options: unknown, command: Command) => {
      const keys = await findKeys(services.db(), beginning);
      const rows = keys.map(({ kind, sellerId, sellerName, ...listed }) => ({
        ...{ kind, seller_id: sellerId, seller_name: sellerName },
        ...toRow(listed),
      }));
      await print(command, rows);
    });
  addCommands(
    program.command('checkout-key').description('manage the keys of the checkout flow'),
    'checkout',
    services,
  );
}

/** The commands that keys of sellers and of the checkout flow share. Those of sellers name the seller first. */
function addCommands(parent: Command, kind: KeyKind, services: Services): void {
  const { db } = services;
  const add = (name: string, description: string): Command => {
    const command = parent.command(name).description(description);
    return kind === 'seller' ? command.argument('<seller-id>', 'id of the seller', uuid) : command;
  };
  /** Null for the checkout flow. */
  const sellerIdOf = async ({ processedArgs: [sellerId] }: Command): Promise<string | null> =>
    kind === 'checkout' ? null : (await requireAccount(services, sellerId as string)).id;

  const what = { seller: 'a key', checkout: 'a key that can report the progress of every order' }[kind];
  add('create', `create ${what}, which is shown only once; several can be active`)
    .option('--label <text>', 'what the key is for', printable(100))
    .action(async (...given: unknown[]) => {
      const command = given.at(-1) as Command;
      const sellerId = await sellerIdOf(command);
      const { id, key } = await createKey(db(), sellerId, command.opts<{ label?: string }>().label);
      const row = { seller: { api_key: key }, checkout: { checkout_key: key } }[kind];
      await print(
        command,
        { ...(sellerId !== null && { seller_id: sellerId }), key_id: id, ...row },
        'The key is shown only once.',
      );
    });
  add('list', 'list keys, oldest first').action(async (...given: unknown[]) => {
    const command = given.at(-1) as Command;
    await print(command, (await listKeys(db(), await sellerIdOf(command))).map(toRow));
  });
  parent
    .command('revoke')
    .description('revoke a key permanently; it stops working within a second')
    .argument('<key-id>', 'id of the key, as list shows it', keyId)
    .action(async (id: number, _options: unknown, command: Command) => {
      const revokedAt = await revokeKey(db(), id, kind);
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
