import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import { PACKAGE_ROOT } from '../package-root';

/** The workflows' code for the worker's sandbox, made once by `npm run build`. */
export const WORKFLOW_BUNDLE = path.join(PACKAGE_ROOT, 'dist/workflow-bundle.js');

async function bundle(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    payloadConverterPath: path.join(PACKAGE_ROOT, 'dist/workflows/payload-converter.js'),
    workflowsPath: path.join(PACKAGE_ROOT, 'dist/workflows/index.js'),
    logger: {
      log: () => undefined,
      trace: () => undefined,
      debug: () => undefined,
      info: () => undefined,
      warn: console.warn,
      error: console.error,
    },
  });
  await writeFile(WORKFLOW_BUNDLE, code);
}

if (require.main === module) void bundle();
