import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import { PACKAGE_ROOT } from '../package';

const DIST = path.join(PACKAGE_ROOT, 'dist');

/** The bundled workflow code that the worker loads. `npm run build` creates it. */
export const WORKFLOW_BUNDLE = path.join(DIST, 'workflow-bundle.js');

/**
 * The SDK takes a stack trace of every promise, for the call stack in the Temporal UI, and each frame costs a lookup in
 * the source map. Three frames name the waiting line; the engine's ten cost a quarter of a replay's processor time.
 */
const FEWER_FRAMES = 'Error.stackTraceLimit = 3; ';

async function bundle(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    payloadConverterPath: path.join(DIST, 'workflows/payload-converter.js'),
    workflowsPath: path.join(DIST, 'workflows/index.js'),
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
  await writeFile(WORKFLOW_BUNDLE, FEWER_FRAMES + code);
}

if (require.main === module) void bundle();
