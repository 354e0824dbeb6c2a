import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

/** The workflows' code for the worker's sandbox, made once by `npm run build`. */
export const WORKFLOW_BUNDLE = path.join(__dirname, '../../workflow-bundle.js');

async function bundle(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: path.join(__dirname, '../../workflows/index.js'),
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
