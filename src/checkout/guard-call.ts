import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** The kind of account that a call to a lender or a bank is for. */
export type AccountMode = 'sandbox' | 'live';

interface Guard<T> {
  /** Who is called, in the messages of errors. */
  who: string;
  deadlineMs: number;
  Unavailable: new (message: string) => Error;
  /** @returns the value without what the service does not know. @throws Error without any of its values */
  check?: (value: T) => T;
  /** @param result undefined if the call failed */
  count: (result?: { value: T }) => void;
  /** For failures. */
  log: Logger | undefined;
}

/**
 * Makes a call end. Each of its errors, and each invalid answer, becomes an `Unavailable`.
 * @param request its signal aborts once the answer is no longer needed
 */
export async function guardCall<T>(
  request: (signal: AbortSignal) => Promise<T>,
  { who, deadlineMs, Unavailable, check = (value) => value, count, log }: Guard<T>,
): Promise<T> {
  const ended = new AbortController();
  async function deadline(): Promise<never> {
    await delay(deadlineMs, undefined, { signal: ended.signal });
    throw new Unavailable(`${who} has not answered within ${deadlineMs} ms`);
  }
  function checked(value: T): T {
    try {
      return check(value);
    } catch (error) {
      throw new Unavailable(`${who}'s adapter returned an invalid answer: ${(error as Error).message}`);
    }
  }
  try {
    const value = checked(await Promise.race([request(ended.signal), deadline()]));
    count({ value });
    return value;
  } catch (error) {
    count();
    // Workflow history keeps the message, and that of an adapter's own error may quote personal data.
    const failure =
      error instanceof Unavailable ? error : new Unavailable(`${who}'s adapter failed: ${describe(error).type}`);
    const cause = error instanceof Error && error.cause !== undefined ? describe(error.cause) : undefined;
    log?.warn({ error: describe(error), cause }, failure.message);
    throw failure;
  } finally {
    ended.abort();
  }
}

/** What an error says about its origin, without its message, which may quote personal data. */
export function describe(error: unknown): { type: string; code?: string; at?: string[] } {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: unknown };
  const frames = (error.stack ?? '').replace(error.message, '').split('\n');
  return {
    type: error.name,
    ...(typeof code === 'string' && /^\w{1,50}$/.test(code) && { code }),
    at: frames.filter((line) => /^ +at .+:\d+\)?$/.test(line)).map((line) => line.trim()),
  };
}

/** The sandbox fails only for test customers, which needs no line. */
export const loggedFor = (mode: AccountMode, log: Logger | undefined): Logger | undefined =>
  mode === 'live' ? log : undefined;

/** Names the accounts that lack a lender or a payment provider, and what an operator can do. */
export function remedyFor(isSandbox: boolean): string {
  return isSandbox ? 'sandbox accounts: set HOSTED_CHECKOUT=true' : 'live accounts: set `live` in src/providers.ts';
}
