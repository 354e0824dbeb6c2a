import { Runtime } from '@temporalio/worker';
import type { Stack } from './stack';
import { startStack } from './stack';

/**
 * The service without a worker. The stack installs the SDK's native runtime, which only a worker's end takes down: left
 * alone it keeps the process from ending.
 */
export async function startServerStack(env: Record<string, string> = {}): Promise<Stack> {
  const stack = await startStack({ worker: false, env });
  return {
    ...stack,
    async stop() {
      await stack.stop();
      await Runtime.instance().shutdown();
    },
  };
}
