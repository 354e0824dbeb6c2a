import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PACKAGE_ROOT } from '../../tools/package-root';

export interface ServiceProcess {
  pid: number;
  /** What it logged last, for messages. */
  lines: string[];
  /** The port that it logged when it was up. */
  port: number;
  exitCode(): number | null;
  /** Sends the signal, and waits for the end where it is one that ends it. */
  signal(signal: NodeJS.Signals): Promise<void>;
}

const running = new Set<ChildProcess>();

/** For `afterEach`: a test that failed half way leaves its processes to this. */
export async function killProcesses(): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      const gone = once(child, 'exit');
      if (child.kill('SIGKILL')) await gone;
    }),
  );
}

/** Starts an entry point as production does, from `dist/`, and waits until it says that it is up. */
export async function startProcess(
  entry: 'server' | 'worker' | 'dev',
  env: Record<string, string>,
  isUp = /is up/,
): Promise<ServiceProcess> {
  const child = spawn(
    process.execPath,
    [path.join(PACKAGE_ROOT, `dist/${entry === 'dev' ? 'tools/local-stack/start' : `src/${entry}`}.js`)],
    {
      env: { ...inherited(), LOG_LEVEL: 'info', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const lines: string[] = [];
  running.add(child);
  const gone = once(child, 'exit').finally(() => running.delete(child));
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const up = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (isUp.test(line)) resolve(line);
    });
  });
  const line = await Promise.race([up, gone.then(() => undefined)]);
  if (line === undefined) throw new Error(`${entry} ended before it was up:\n${lines.join('\n')}`);
  return {
    pid: child.pid!,
    lines,
    port: Number(/"(?:health_)?port":(\d+)/.exec(line)?.[1]),
    exitCode: () => child.exitCode,
    async signal(signal) {
      child.kill(signal);
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await gone;
    },
  };
}

/** Not the settings of the developer's shell: they would steer the service under test. */
function inherited(): Record<string, string | undefined> {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  return { PATH, HOME, XDG_CACHE_HOME };
}
