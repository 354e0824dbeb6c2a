import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { countSecretsByKey, encryptSecretsAgain } from '../db/secrets';
import { CliError } from './cli-error';
import { print, write } from './output';
import type { Services } from './services';

export function addEncryptionCommands(program: Command, services: Services): void {
  const encryption = program.command('encryption').description('manage the keys that encrypt secrets');
  addNewKey(encryption);
  addShow(encryption, services);
  addRotate(encryption, services);
}

function addNewKey(encryption: Command): void {
  encryption
    .command('new-key')
    .description('print a new key for ENCRYPTION_KEYS; it is stored nowhere')
    .action(() => {
      const id = new Date().toISOString().slice(0, 10);
      return write(`${id}-${randomBytes(2).toString('hex')}:${randomBytes(32).toString('base64')}\n`);
    });
}

function addShow(encryption: Command, { db, keys }: Services): void {
  encryption
    .command('show')
    .description('show how many secrets are encrypted with each key')
    .action(async (_options: unknown, command: Command) => {
      const { firstKey } = keys();
      const counts = await countSecretsByKey(db());
      const rows = counts.map(({ keyId, secrets }) => ({
        key: keyId ?? 'not encrypted',
        secrets,
        encrypts: keyId === firstKey,
      }));
      const note = firstKey === undefined ? 'ENCRYPTION_KEYS is not set.' : `The key ${firstKey} encrypts new secrets.`;
      await print(command, rows, note);
    });
}

function addRotate(encryption: Command, { db, keys }: Services): void {
  encryption
    .command('rotate')
    .description('encrypt all secrets with the first key of ENCRYPTION_KEYS')
    .action(async (_options: unknown, command: Command) => {
      const ring = keys();
      if (ring.firstKey === undefined) throw new CliError('ENCRYPTION_KEYS is missing');
      const encrypted = await encryptSecretsAgain(db(), ring);
      await print(command, { key: ring.firstKey, encrypted });
    });
}
