import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Milliseconds without a byte after which the download is given up. */
const STALLED_AFTER = 20_000;

/**
 * Run by a Node process of its own: the SDK downloads only by starting a server on its native runtime, of which a
 * process has but one, and cannot be told to give up.
 */
const SCRIPT = `
const { TestWorkflowEnvironment } = require(process.argv[1]);
const executable = { type: 'cached-download', downloadDir: process.argv[2] };
TestWorkflowEnvironment.createLocal({ server: { executable } })
  .then((env) => env.teardown())
  .then(() => process.exit(0), (error) => { console.error(error.message); process.exit(1); });
`;

/** Has the SDK download the Temporal CLI of its choice, to `target`. Throws with the reason if that fails or stalls. */
export async function downloadCli(
  target: string,
  { sdk = require.resolve('@temporalio/testing'), stalledAfter = STALLED_AFTER } = {},
): Promise<void> {
  mkdirSync(dirname(target), { recursive: true });
  const dir = mkdtempSync(`${target}-download-`);
  try {
    await download(sdk, dir, stalledAfter);
    const [file] = readdirSync(dir);
    if (file === undefined) throw new Error('the SDK left no file');
    renameSync(join(dir, file), target);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function download(sdk: string, dir: string, stalledAfter: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', SCRIPT, sdk, dir], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));

    let [size, changed] = [0, Date.now()];
    const watch = setInterval(() => {
      const now = sizeOf(dir);
      if (now !== size) [size, changed] = [now, Date.now()];
      else if (Date.now() - changed >= stalledAfter) child.kill('SIGKILL');
    }, 200);
    child.once('close', (code, signal) => {
      clearInterval(watch);
      if (code === 0) resolve();
      else if (signal === 'SIGKILL') reject(new Error(`nothing came for ${stalledAfter / 1000} s`));
      // The last line without the addresses that lead it: "… for url (https://…): dns error: …".
      else
        reject(
          new Error(
            said
              .trim()
              .split('\n')
              .pop()
              ?.replace(/.*\): /, ''),
          ),
        );
    });
  });
}

function sizeOf(dir: string): number {
  return readdirSync(dir).reduce(
    (sum, file) => sum + (statSync(join(dir, file), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
