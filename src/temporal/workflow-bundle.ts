import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import { PACKAGE_ROOT } from '../package';

const DIST = path.join(PACKAGE_ROOT, 'dist');

/** The bundled workflow code that the worker loads. `npm run build` creates it. */
export const WORKFLOW_BUNDLE = path.join(DIST, 'workflow-bundle.js');
/** The same code with OpenTelemetry, which takes three times the memory. */
export const TRACED_WORKFLOW_BUNDLE = path.join(DIST, 'traced-workflow-bundle.js');

const TRACE_WORKFLOWS = '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors';

async function bundle(file: string, ...interceptors: string[]): Promise<void> {
  const { code } = await bundleWorkflowCode({
    payloadConverterPath: path.join(DIST, 'workflows/payload-converter.js'),
    workflowsPath: path.join(DIST, 'workflows/index.js'),
    workflowInterceptorModules: [path.join(DIST, 'workflows/forward-request-context.js'), ...interceptors],
    logger: {
      log: () => undefined,
      trace: () => undefined,
      debug: () => undefined,
      info: () => undefined,
      warn: console.warn,
      error: console.error,
    },
  });
  await writeFile(file, code);
}

if (require.main === module) {
  void Promise.all([bundle(WORKFLOW_BUNDLE), bundle(TRACED_WORKFLOW_BUNDLE, require.resolve(TRACE_WORKFLOWS))]);
}
