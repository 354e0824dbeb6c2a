import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The download fails after this many milliseconds without new data. */
const STALL_LIMIT_MS = 20_000;

/**
 * Runs in a separate Node process: the SDK downloads the CLI only when it starts a server on its native runtime. A
 * process has one such runtime, and the download cannot be cancelled.
 */
const SCRIPT = `
const { TestWorkflowEnvironment } = require(process.argv[1]);
const executable = { type: 'cached-download', downloadDir: process.argv[2] };
TestWorkflowEnvironment.createLocal({ server: { executable } })
  .then((env) => env.teardown())
  .then(() => process.exit(0), (error) => { console.error(error.message); process.exit(1); });
`;

/**
 * Downloads the Temporal CLI version that the SDK prefers to `target`.
 * @throws the reason if that fails or stalls
 */
export async function downloadCli(
  target: string,
  { sdk = require.resolve('@temporalio/testing'), stallLimit = STALL_LIMIT_MS } = {},
): Promise<void> {
  mkdirSync(dirname(target), { recursive: true });
  const dir = mkdtempSync(`${target}-download-`);
  try {
    await download(sdk, dir, stallLimit);
    const [file] = readdirSync(dir);
    if (file === undefined) throw new Error('the SDK downloaded no file');
    renameSync(join(dir, file), target);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function download(sdk: string, dir: string, stallLimit: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', SCRIPT, sdk, dir], { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));

    let [size, changed] = [0, Date.now()];
    const watch = setInterval(() => {
      const now = sizeOf(dir);
      if (now !== size) [size, changed] = [now, Date.now()];
      else if (Date.now() - changed >= stallLimit) child.kill('SIGKILL');
    }, 200);
    child.once('close', (code, signal) => {
      clearInterval(watch);
      if (code === 0) resolve();
      else if (signal === 'SIGKILL') reject(new Error(`received no data for ${stallLimit / 1000} s`));
      else {
        const lastLine = errors.trim().split('\n').at(-1) ?? '';
        // Without the address at its start: "… for url (https://…): dns error: …".
        reject(new Error(lastLine.replace(/.*\): /, '')));
      }
    });
  });
}

function sizeOf(dir: string): number {
  return readdirSync(dir).reduce(
    (sum, file) => sum + (statSync(join(dir, file), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
