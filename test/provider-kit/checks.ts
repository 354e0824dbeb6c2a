import { setTimeout as delay } from 'node:timers/promises';

/** One thing that an adapter must do. Throws, with the reason, if the adapter does not do it. */
export interface Check {
  title: string;
  run: () => Promise<void>;
}

/** Runs the checks one after the other. Returns a line for each, and the number of failures. */
export async function runChecks(
  checks: readonly Check[],
  print: (line: string) => void = console.log,
): Promise<{ failed: string[] }> {
  const failed: string[] = [];
  for (const { title, run } of checks) {
    try {
      await run();
      print(`✓ ${title}`);
    } catch (error) {
      failed.push(title);
      print(`✗ ${title}\n    ${withCauses(error)}`);
    }
  }
  return { failed };
}

/** The message of an error and of its causes: that of fetch is only in its cause. */
function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // That of an AggregateError is empty.
  const text = error.message || ((error as { code?: string }).code ?? error.name);
  return error.cause === undefined ? text : `${text}: ${withCauses(error.cause)}`;
}

export function must(isTrue: boolean, reason: string): asserts isTrue {
  if (!isTrue) throw new Error(reason);
}

/** Calls until there is an answer. @throws Error with the reason after `timeoutMs` */
export async function poll<T>(
  call: () => Promise<T | undefined>,
  { everyMs, timeoutMs, reason }: { everyMs: number; timeoutMs: number; reason: string },
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await call();
    if (answer !== undefined) return answer;
    must(Date.now() < deadline, `${reason} within ${timeoutMs} ms`);
    await delay(everyMs);
  }
}
