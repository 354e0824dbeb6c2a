import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { isExecutable } from './executable';
import { withLock } from './lock';
import { identify } from './process-table';
import type { Tool } from './temporal-tools';

export type Log = (line: string) => void;

/** Milliseconds between two lines on how far the build is. */
const REPORT_EVERY = 10_000;

/**
 * Builds a program with the Go toolchain on PATH into `target`, which is whole or absent however this is interrupted.
 * Of two that start at once the second waits for the first. Throws with what Go said last.
 */
export async function buildTool(tool: Tool, target: string, log: Log, env: NodeJS.ProcessEnv): Promise<void> {
  mkdirSync(dirname(target), { recursive: true });
  const title = `${tool.binary} ${tool.version}`;
  const wait = () => log(`another process is building ${title}: waiting for it`);
  await withLock(`${target}.lock`, wait, async () => {
    if (isExecutable(target)) return;
    removeAbandoned(target);
    const unfinished = `${target}.${process.pid}.tmp`;
    try {
      await build(tool, title, unfinished, log, env);
      renameSync(unfinished, target);
    } finally {
      rmSync(unfinished, { force: true });
    }
  });
}

async function build(tool: Tool, title: string, output: string, log: Log, env: NodeJS.ProcessEnv): Promise<void> {
  const started = Date.now();
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`;
  log(`building ${title} with Go, which the first time takes some minutes`);
  let state = 'looking up its sources';
  const report = setInterval(() => log(`building ${title}: ${elapsed()}, ${state}`), REPORT_EVERY);
  try {
    let [packages, modules, compiled] = [0, 0, 0];
    const downloading = (line: string) => {
      if (line.startsWith('go: downloading ')) state = `${++modules} modules downloaded`;
    };
    await go(['list', '-deps', ...tool.flags, tool.package], tool.dir, env, () => (packages += 1), downloading);

    const small = ['-trimpath', '-ldflags', '-s -w'];
    const compiling = (line: string) => {
      if (!line.startsWith('go: ')) state = `${++compiled} of about ${packages} packages compiled`;
    };
    const args = ['build', '-v', ...small, ...tool.flags, '-o', output, tool.package];
    await go(args, tool.dir, env, () => undefined, compiling);
    log(`built ${title} in ${elapsed()}`);
  } finally {
    clearInterval(report);
  }
}

/** Runs Go without cgo, so that no C compiler is needed; the lines of its two outputs are handed on. */
function go(args: string[], cwd: string, env: NodeJS.ProcessEnv, onOutput: Log, onError: Log): Promise<void> {
  return new Promise((resolve, reject) => {
    // In our process group, unlike the servers: Ctrl-C is to end a build at once.
    const child = spawn('go', args, { cwd, env: { ...env, CGO_ENABLED: '0' }, stdio: ['ignore', 'pipe', 'pipe'] });
    const kill = () => child.kill();
    process.once('exit', kill);
    let last = '';
    createInterface(child.stdout).on('line', onOutput);
    createInterface(child.stderr).on('line', (line) => {
      if (line.trim() !== '') last = line.trim();
      onError(line);
    });
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(error.code === 'ENOENT' ? 'no Go toolchain on PATH' : error.message)),
    );
    child.once('close', (code, signal) => {
      process.off('exit', kill);
      if (code === 0) resolve();
      else reject(new Error(`go ${args[0] ?? ''} ended with ${signal ?? `code ${code ?? '?'}`}: ${last}`));
    });
  });
}

/** What a build that was killed left behind; not what another process is writing just now. */
function removeAbandoned(target: string): void {
  for (const file of readdirSync(dirname(target))) {
    const pid = file.startsWith(`${basename(target)}.`) ? /\.(\d+)\.tmp$/.exec(file)?.[1] : undefined;
    if (pid !== undefined && !identify(Number(pid))) rmSync(join(dirname(target), file), { force: true });
  }
}
