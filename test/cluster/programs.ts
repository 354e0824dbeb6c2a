import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';

/** Built from Go modules, as they are published. */
const VERSION = '1.32.1';
const CACHE = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'order-service');
const FOLDER = path.join(CACHE, `temporal-server-${VERSION}-${process.platform}-${process.arch}`);

export const TEMPORAL_SERVER = path.join(FOLDER, 'server');
export const TEMPORAL_SQL_TOOL = path.join(FOLDER, 'sql');

/** Each command of which the machine must have, and what it is for. */
const NEEDED: [string[], string][] = [
  [['ip', '-V'], 'ip (package iproute2), for the hosts'],
  [['tc', '-V'], 'tc (package iproute2), for slow networks'],
  [['nft', '-v'], 'nft (package nftables), for cut networks'],
  [['unshare', '--version'], 'unshare and nsenter (package util-linux), for the hosts'],
  [['haproxy', '-v'], 'haproxy, for the proxies'],
  [['openssl', 'version'], "openssl, for the proxies' certificates"],
];

/** What this machine lacks; undefined if it has everything. */
export function lacking(): string | undefined {
  const has = ([command, ...args]: string[]): boolean => spawnSync(command!, args, { stdio: 'ignore' }).status === 0;
  const missing = NEEDED.filter(([command]) => !has(command)).map(([, purpose]) => purpose);
  if (process.platform !== 'linux') missing.unshift('Linux, for its network namespaces');
  if (process.getuid?.() !== 0) missing.unshift('root, for network namespaces');
  if (!existsSync(TEMPORAL_SERVER) && !has(['go', 'version'])) missing.push('Go, to build the Temporal server');
  return missing.length === 0 ? undefined : `npm run cluster needs ${missing.join('; ')}`;
}

/** Builds `temporal-server` and `temporal-sql-tool` into the cache: once, about four minutes on two cores. */
export function buildTemporal(): void {
  if (existsSync(TEMPORAL_SQL_TOOL)) return;
  console.log(`building Temporal ${VERSION} from Go modules: about four minutes, once`);
  mkdirSync(CACHE, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(`${FOLDER}-`);
  try {
    const packages = ['cmd/server', 'cmd/tools/sql'].map((name) => `go.temporal.io/server/${name}@v${VERSION}`);
    const env = { ...process.env, GOBIN: folder, GOFLAGS: '-buildvcs=false' };
    execFileSync('go', ['install', ...packages], { cwd: tmpdir(), env, stdio: 'inherit' });
    rmSync(FOLDER, { recursive: true, force: true });
    renameSync(folder, FOLDER);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
