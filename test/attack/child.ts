import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';

/** Runs the file's `serveParent` in a process of its own, so that no client delays another one's measurements. */
export async function runInChild<Output>(file: string, input: object, niceness = 0): Promise<Output> {
  const child = fork(file);
  if (niceness > 0) setPriority(child.pid!, niceness);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended with exit code ${code}`);
  });
  child.send(input);
  const [output] = (await Promise.race([once(child, 'message'), ended])) as [Output];
  ended.catch(() => undefined);
  child.kill('SIGKILL');
  return output;
}

/** For a file that `runInChild` runs. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the parent sends what the file expects
export function serveParent<Input>(run: (input: Input) => Promise<object>): void {
  process.once('message', (input: Input) => {
    void run(input).then(
      (output) => process.send!(output),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
