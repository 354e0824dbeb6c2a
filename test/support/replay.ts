import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { WORKFLOW_BUNDLE } from '../../src/temporal/workflow-bundle';

/**
 * Replays the history of an order's workflow. Install the runtime first.
 * @param history as JSON or as the client returns it
 * @throws DeterminismViolationError if the code makes other commands
 */
export function replay(history: unknown, codePath = WORKFLOW_BUNDLE): Promise<void> {
  return Worker.runReplayHistory(
    { workflowBundle: { codePath } },
    temporal.api.history.v1.History.fromObject(history as Record<string, unknown>),
    'order-replayed',
  );
}
