import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OsAccount, postgresBinaries, spawnAs } from './postgres-binaries';

const PASSWORD_FILE = 'order-service.password';

/** Creates the cluster and its database `orders`. An interrupted call leaves no `dataDir`. */
export async function initializePostgres(dataDir: string, account: OsAccount, durable: boolean): Promise<void> {
  const { initdb, postgres } = postgresBinaries();
  const fresh = `${dataDir}.new`;
  const passwordFile = `${fresh}.password`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 });
  const { owner } = account;
  if (owner) for (const path of [fresh, passwordFile]) chownSync(path, owner.uid, owner.gid);

  const flags = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8'];
  // Postgres' built-in UTF-8 locale sorts text the same on every machine.
  flags.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  await run(account, initdb, ['-D', fresh, ...flags, ...(durable ? [] : ['--no-sync'])]);
  await run(account, postgres, ['--single', '-D', fresh, 'postgres'], 'create database orders\n');
  renameSync(passwordFile, join(fresh, PASSWORD_FILE));
  renameSync(fresh, dataDir);
}

export function passwordOf(dataDir: string): string {
  return readFileSync(join(dataDir, PASSWORD_FILE), 'utf8');
}

function run(account: OsAccount, binary: string, args: string[], input = ''): Promise<void> {
  const [command, ...rest] = [...account.via, binary, ...args] as [string, ...string[]];
  const options = { ...spawnAs(account), env: { ...process.env, LC_ALL: 'C' } };
  return new Promise((resolve, reject) => {
    const child = execFile(command, rest, options, (error, _stdout, stderr) => {
      // In single-user mode, Postgres exits with code 0 even if a statement fails.
      const problem = /(?:(?:error|ERROR|FATAL|PANIC):|error while loading) .*/.exec(stderr)?.[0] ?? error?.message;
      if (problem === undefined) resolve();
      else reject(new Error(`Postgres could not create its database: ${problem}`));
    });
    child.stdin?.on('error', () => undefined).end(input);
  });
}
