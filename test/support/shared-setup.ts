import globalSetup, { stopOnExit } from './global-setup';
import { startSharedStack } from './shared-stack';

/** Starts Postgres, Temporal and the service that test files share. */
export default async function sharedSetup(): Promise<void> {
  await globalSetup();
  const shared = await startSharedStack();
  // Temporal ends at the same time, and a worker would wait for it.
  for (const pid of shared.pids) stopOnExit(pid, 'SIGKILL');
  const { stopTestStack } = globalThis as unknown as { stopTestStack: () => Promise<unknown> };
  Object.assign(globalThis, { stopTestStack: () => shared.stop().then(stopTestStack) });
}
