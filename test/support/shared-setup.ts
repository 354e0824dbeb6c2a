import globalSetup, { stopOnExit } from './global-setup';
import { startSharedStack } from './shared-stack';

/** Starts Postgres, Temporal and the service that test files share. */
export default async function sharedSetup(): Promise<void> {
  await globalSetup();
  const shared = await startSharedStack();
  for (const pid of shared.pids) stopOnExit(pid);
  const { stopTestStack } = globalThis as unknown as { stopTestStack: () => Promise<unknown> };
  Object.assign(globalThis, { stopTestStack: () => shared.stop().then(stopTestStack) });
}
