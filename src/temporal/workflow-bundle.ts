import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import { PACKAGE_ROOT } from '../package';

const DIST = path.join(PACKAGE_ROOT, 'dist');

/** The bundled workflow code of a task queue, which its worker loads. `npm run build` creates it. */
export const WORKFLOW_BUNDLES = {
  orders: path.join(DIST, 'order-workflows.js'),
  checkout: path.join(DIST, 'checkout-workflows.js'),
};

const SOURCES = {
  orders: 'workflows/index.js',
  checkout: 'src/checkout/temporal/checkout-workflow.js',
} satisfies typeof WORKFLOW_BUNDLES;

/**
 * The SDK takes a stack trace of every promise, for the call stack in the Temporal UI, and each frame costs a lookup in
 * the source map. Three frames name the waiting line; the engine's ten cost a quarter of a replay's processor time.
 */
const FEWER_FRAMES = 'Error.stackTraceLimit = 3; ';

async function bundle(queue: keyof typeof WORKFLOW_BUNDLES): Promise<void> {
  const { code } = await bundleWorkflowCode({
    payloadConverterPath: path.join(DIST, 'workflows/payload-converter.js'),
    workflowsPath: path.join(DIST, SOURCES[queue]),
    logger: {
      log: () => undefined,
      trace: () => undefined,
      debug: () => undefined,
      info: () => undefined,
      warn: console.warn,
      error: console.error,
    },
  });
  // On the bundle's first line, so that the source map stays true.
  await writeFile(WORKFLOW_BUNDLES[queue], FEWER_FRAMES + code);
}

if (require.main === module) void Promise.all([bundle('orders'), bundle('checkout')]);
