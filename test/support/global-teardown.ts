import { rmSync } from 'node:fs';

export default async function globalTeardown(): Promise<void> {
  const { stopTestStack } = globalThis as unknown as { stopTestStack?: () => Promise<unknown> };
  await stopTestStack?.();
  if (process.env.TEST_DATA_DIR) rmSync(process.env.TEST_DATA_DIR, { recursive: true, force: true });
}
