import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { findDeadlock } from './find-deadlock';

export default async function globalTeardown(): Promise<void> {
  const { stopTestStack } = globalThis as unknown as { stopTestStack?: () => Promise<unknown> };
  await stopTestStack?.();
  const dataDir = process.env.TEST_DATA_DIR;
  if (!dataDir) return;
  const deadlock = findDeadlock(readFileSync(path.join(dataDir, 'postgres.log'), 'utf8'));
  rmSync(dataDir, { recursive: true, force: true });
  // A deadlock refuses a call or repeats a webhook for no reason, and so seldom that hardly any test notices it.
  if (deadlock !== undefined) throw new Error(`Two transactions waited for each other:\n${deadlock}`);
}
