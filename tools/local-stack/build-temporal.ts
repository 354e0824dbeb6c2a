import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { isExecutable } from './executable';
import { withLock } from './lock';
import { identify } from './process-table';
import type { Tool } from './temporal-tools';

type Log = (line: string) => void;

/** Milliseconds between two progress lines. */
const REPORT_INTERVAL = 10_000;

/**
 * Builds a program into `target` with the Go toolchain on PATH. An interrupted build leaves no `target`. If another
 * process already builds it, this call waits for that build.
 * @throws an error with Go's last line of output
 */
export async function buildTool(tool: Tool, target: string, log: Log, env: NodeJS.ProcessEnv): Promise<void> {
  mkdirSync(dirname(target), { recursive: true });
  const title = `${tool.binary} ${tool.version}`;
  const onWait = () => log(`another process is building ${title}: waiting for it`);
  await withLock(target, onWait, async () => {
    if (isExecutable(target)) return;
    removeAbandonedBuilds(target);
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
  log(`building ${title} with Go; the first build takes some minutes`);
  let progress = 'resolving its packages';
  const report = setInterval(() => log(`building ${title}: ${elapsed()}, ${progress}`), REPORT_INTERVAL);
  try {
    let [packages, modules, compiled] = [0, 0, 0];
    const onDownload = (line: string) => {
      if (line.startsWith('go: downloading ')) progress = `${++modules} modules downloaded`;
    };
    await go(['list', '-deps', ...tool.flags, tool.package], tool.dir, env, () => (packages += 1), onDownload);

    const smaller = ['-trimpath', '-ldflags', '-s -w'];
    const onCompile = (line: string) => {
      if (!line.startsWith('go: ')) progress = `${++compiled} of about ${packages} packages compiled`;
    };
    const args = ['build', '-v', ...smaller, ...tool.flags, '-o', output, tool.package];
    await go(args, tool.dir, env, () => undefined, onCompile);
    log(`built ${title} in ${elapsed()}`);
  } finally {
    clearInterval(report);
  }
}

/** Runs Go and passes on each line of its output. Cgo is off, so that no C compiler is needed. */
function go(args: string[], cwd: string, env: NodeJS.ProcessEnv, onOutput: Log, onError: Log): Promise<void> {
  return new Promise((resolve, reject) => {
    // In our process group, unlike the servers, so that Ctrl-C ends a build immediately.
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

/** Removes the unfinished files of killed builds, but not one that a living process is writing. */
function removeAbandonedBuilds(target: string): void {
  for (const file of readdirSync(dirname(target))) {
    const pid = file.startsWith(`${basename(target)}.`) ? /\.(\d+)\.tmp$/.exec(file)?.[1] : undefined;
    if (pid !== undefined && !identify(Number(pid))) rmSync(join(dirname(target), file), { force: true });
  }
}
