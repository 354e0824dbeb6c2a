import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

interface Child {
  pid: number;
  /** What it printed when it was ready. */
  ready: { port?: number };
  stop: () => Promise<void>;
}

/** Starts a file with Node, and waits for the line of JSON that it prints when it is ready. */
export async function startChild(file: string, env: Record<string, string>): Promise<Child> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, ['--no-deprecation', file], {
    env: { PATH, HOME, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const ready = new Promise<Child['ready']>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) resolve(JSON.parse(line) as Child['ready']);
    });
  });
  const early = exited.then(([code]): never => {
    throw new Error(`${file} ended with exit code ${code}`);
  });
  early.catch(() => undefined);
  return {
    pid: child.pid!,
    ready: await Promise.race([ready, early]),
    async stop() {
      child.kill('SIGTERM');
      const forced = setTimeout(() => child.kill('SIGKILL'), 5000);
      await exited;
      clearTimeout(forced);
    },
  };
}
