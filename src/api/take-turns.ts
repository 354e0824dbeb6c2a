import { FairQueue } from '../orders/fair-queue';
import { clientNetwork } from './client-network';
import type { Context, Next } from './context';

/**
 * Creates a middleware that begins one request in each turn of the event loop, and lets addresses take turns. So a flood of
 * requests waits for itself: a request from another address begins soon, and those that have begun share the process with
 * few new ones.
 */
export function takeTurns() {
  const waiting = new FairQueue<() => void>();
  let hasBegun = false;

  function beginNext(): void {
    const begin = waiting.shift();
    hasBegun = begin !== undefined;
    if (!begin) return;
    setImmediate(beginNext);
    begin();
  }

  return async ({ ip }: Pick<Context, 'ip'>, next: Next): Promise<void> => {
    if (hasBegun) await new Promise<void>((resolve) => waiting.push(clientNetwork(ip), resolve));
    else {
      hasBegun = true;
      setImmediate(beginNext);
    }
    await next();
  };
}
