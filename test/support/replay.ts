import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { WORKFLOW_BUNDLE } from '../../src/temporal/workflow-bundle';

/** Options of a worker that replays; the sinks of the traced bundle do nothing. */
export const replayOptions = (codePath = WORKFLOW_BUNDLE) => ({
  workflowBundle: { codePath },
  sinks: { exporter: { export: { fn: () => undefined } } },
});

/**
 * Replays the history of an order's workflow. Install the runtime first.
 * @param history as JSON or as the client returns it
 * @throws DeterminismViolationError if the code makes other commands
 */
export function replay(history: unknown, codePath?: string): Promise<void> {
  return Worker.runReplayHistory(
    replayOptions(codePath),
    temporal.api.history.v1.History.fromObject(history as Record<string, unknown>),
    'order-replayed',
  );
}
