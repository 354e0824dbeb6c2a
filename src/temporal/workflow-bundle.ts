import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

/** The bundled workflow code that the worker loads. `npm run build` creates it. */
export const WORKFLOW_BUNDLE = path.join(packageRoot(__dirname), 'dist/workflow-bundle.js');

async function bundle(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    payloadConverterPath: path.join(path.dirname(WORKFLOW_BUNDLE), 'workflows/payload-converter.js'),
    workflowsPath: path.join(path.dirname(WORKFLOW_BUNDLE), 'workflows/index.js'),
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

/** Finds the package's folder, from the sources, which tests run, and from the compiled files in `dist/`. */
function packageRoot(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : packageRoot(path.dirname(folder));
}

if (require.main === module) void bundle();
