import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Readable } from 'node:stream';
import { run } from '../../src/cli/run';
import { PACKAGE_ROOT } from '../../src/package';

export interface CliRun {
  code: number;
  stdout: string;
  stderr: string;
  /** Parses standard output as JSON. */
  json: () => any;
}

/** No DATA_DIR: the settings that `npm start` wrote in this clone do not count. */
const NO_DEMO = { DATA_DIR: '/nonexistent' };
let previous: Promise<unknown> = Promise.resolve();

/**
 * Runs a command of the CLI in this process, after those before it: they share the output. Only `env` configures it.
 * @param input what the operator types
 */
export function runCli(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<CliRun> {
  const current = previous.then(() => capture(() => run(args, { ...NO_DEMO, ...env }, Readable.from([input]))));
  previous = current.catch(() => undefined);
  return current;
}

async function capture(command: () => Promise<number>): Promise<CliRun> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text, ...rest) => {
      printed[name] += String(text);
      for (const done of rest) if (typeof done === 'function') done();
      return true;
    }),
  );
  try {
    const code = await command();
    const { stdout, stderr } = printed;
    return { code, stdout, stderr, json: () => JSON.parse(stdout) };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs the built CLI, or another entry point, in a process of its own, which takes far longer. */
export async function spawnCli(
  args: readonly string[],
  env: Record<string, string> = {},
  entry: 'cli' | 'migrate' | 'server' = 'cli',
): Promise<CliRun> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, `dist/src/${entry}.js`), ...args], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...NO_DEMO, ...env },
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
