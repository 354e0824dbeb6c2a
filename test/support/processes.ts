import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PACKAGE_ROOT } from '../../src/package';

export interface ServiceProcess {
  pid: number;
  /** Everything it has logged so far. */
  lines: string[];
  /** The port that it logged when it was ready. */
  port: number;
  exitCode(): number | null;
  isRunning(): boolean;
  /** Sends a signal. Unless it is SIGSTOP or SIGCONT, waits until the process has exited. */
  signal(signal: NodeJS.Signals): Promise<void>;
}

const running = new Set<ChildProcess>();

/**
 * For `afterEach`: ends processes that a failed test left running.
 * @param signal SIGTERM for `npm start`, which would otherwise leave Postgres and Temporal running
 */
export async function killProcesses(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      const exited = once(child, 'exit');
      if (child.kill(signal)) await exited;
    }),
  );
}

interface ProcessOptions {
  isUp?: RegExp;
  /** The folder whose `dist/` is run. */
  root?: string;
  nodeOptions?: readonly string[];
  /** The start of the command: programs that run the process, such as nsenter. */
  via?: readonly string[];
}

/** Starts an entry point from `dist/`, like production does, and waits until its log states that it is ready. */
export async function startProcess(
  entry: 'server' | 'worker' | 'npm-start',
  env: Record<string, string>,
  { isUp = /(API|worker) started|is up/, root = PACKAGE_ROOT, nodeOptions = [], via = [] }: ProcessOptions = {},
): Promise<ServiceProcess> {
  const file = `dist/${entry === 'npm-start' ? 'tools/local-stack/start' : `src/${entry}`}.js`;
  const preload = path.join(root, 'dist/test/support/constants.js');
  const options = env.TEST_CONSTANTS === undefined || !existsSync(preload) ? [] : ['--require', preload];
  const command = [...via, process.execPath, ...options, ...nodeOptions, path.join(root, file)];
  const child = spawn(command[0]!, command.slice(1), {
    env: { ...inherited(), LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  running.add(child);
  const exited = once(child, 'exit').finally(() => running.delete(child));
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const up = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (isUp.test(line)) resolve(line);
    });
  });
  const line = await Promise.race([up, exited.then(() => undefined)]);
  if (line === undefined) throw new Error(`${entry} exited before it was ready:\n${lines.join('\n')}`);
  return {
    pid: child.pid!,
    lines,
    port: Number(/"(?:health_)?port":(\d+)/.exec(line)?.[1]),
    exitCode: () => child.exitCode,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async signal(signal) {
      child.kill(signal);
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await exited;
    },
  };
}

/** Leaves out all other variables of the shell, because they would configure the service under test. */
function inherited(): Record<string, string | undefined> {
  const { PATH, HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE };
}
