import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { WORKFLOW_BUNDLES } from '../../src/temporal/workflow-bundle';

/**
 * Replays the history of a workflow, of an order unless the code is another. Install the runtime first.
 * @param history as JSON or as the client returns it
 * @throws DeterminismViolationError if the code makes other commands
 */
export function replay(history: unknown, codePath = WORKFLOW_BUNDLES.orders): Promise<void> {
  return Worker.runReplayHistory(
    { workflowBundle: { codePath } },
    temporal.api.history.v1.History.fromObject(history as Record<string, unknown>),
    'order-replayed',
  );
}
