import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { replayOptions } from '../support/replay';
import type { Broken } from './invariants';
import type { ChaosStack } from './stack';

let isInstalled = false;

/** The runs of these sellers' orders that cannot be replayed: a worker that drops one from its cache cannot continue it. */
export async function replayFaults({ client }: ChaosStack, sellerIds: readonly string[]): Promise<Broken[]> {
  if (!isInstalled) installTemporalRuntime(pino({ level: 'silent' }), undefined);
  isInstalled = true;
  async function* histories() {
    for (const sellerId of sellerIds) {
      for await (const { workflowId, runId } of client.workflow.list({ query: `SellerId = '${sellerId}'` })) {
        const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        // The replay of a run that has not begun never ends.
        if (!history.events?.some(({ workflowTaskCompletedEventAttributes: completed }) => completed)) continue;
        yield { workflowId, history: temporal.api.history.v1.History.fromObject(history) };
      }
    }
  }
  const broken: Broken[] = [];
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(replayOptions(), histories())) {
    const orderId = workflowId.slice('order-'.length);
    if (error) broken.push({ orderId, fault: `run ${runId} cannot be replayed: ${error.message.slice(0, 500)}` });
  }
  return broken;
}
