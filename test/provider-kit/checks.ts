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
      print(`✗ ${title}\n    ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { failed };
}

export function must(isTrue: boolean, reason: string): asserts isTrue {
  if (!isTrue) throw new Error(reason);
}

/** @throws Error if the URL is neither https nor on this machine */
export function mustBeSafe(url: string): void {
  must(URL.canParse(url), `not a URL: ${url}`);
  const { protocol, hostname } = new URL(url);
  must(protocol === 'https:' || /^(localhost|127\.0\.0\.1)$/.test(hostname), `neither https nor this machine: ${url}`);
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
