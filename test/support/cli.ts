import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';

export interface CliRun {
  code: number;
  stdout: string;
  stderr: string;
  /** Parses standard output as JSON. */
  json: () => any;
}

/** Runs the built CLI, or the migration command, in its own process. Only `env` configures it. */
export async function runCli(
  args: readonly string[],
  env: Record<string, string> = {},
  entry: 'cli' | 'migrate' | 'server' = 'cli',
): Promise<CliRun> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, `dist/src/${entry}.js`), ...args], {
    // No DATA_DIR: the settings that `npm start` wrote in this clone do not count.
    env: { PATH, HOME, NODE_COMPILE_CACHE, DATA_DIR: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, stdout, stderr, json: () => JSON.parse(stdout) };
}

/** Expects the exit code, one line on standard error that matches `line`, and nothing on standard output. */
export function expectError(run: Omit<CliRun, 'json'>, code: number, line: RegExp): void {
  expect(run.stderr).toMatch(/^error: .+\n$/);
  expect(run.stderr).toMatch(line);
  expect(run).toMatchObject({ code, stdout: '' });
}
