import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';

export interface ShellResult {
  code: number;
  stdout: string;
  /** Both streams, in the order in which they arrived. */
  output: string;
}

/** Runs a shell command and collects its output. */
export async function shell(
  command: string,
  cwd: string = tmpdir(),
  env: Record<string, string> = {},
): Promise<ShellResult> {
  const child = spawn('bash', ['-c', command], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 600_000,
  });
  const result: ShellResult = { code: 1, stdout: '', output: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      result.output += text;
      if (stream === child.stdout) result.stdout += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { ...result, code: code ?? 1 };
}
