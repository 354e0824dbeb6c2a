import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { replayOptions } from '../support/replay';
import type { Broken } from './invariants';
import type { ChaosStack } from './stack';

let isInstalled = false;

/**
 * The runs of these sellers' orders that cannot be replayed: a worker that drops one from its cache cannot continue it.
 * @param cachedUntil runs that started before this time (unix ms) are left out
 */
export async function replayFaults(
  { client }: ChaosStack,
  sellerIds: readonly string[],
  cachedUntil = 0,
): Promise<Broken[]> {
  if (!isInstalled) installTemporalRuntime(pino({ level: 'silent' }), undefined);
  isInstalled = true;
  async function* histories() {
    for (const sellerId of sellerIds) {
      const query = `SellerId = '${sellerId}'`;
      for await (const { workflowId, runId, startTime } of client.workflow.list({ query })) {
        if (startTime.getTime() < cachedUntil) continue;
        const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        // The replay of a run that has not begun never ends.
        if (!history.events?.some(({ workflowTaskCompletedEventAttributes: completed }) => completed)) continue;
        yield { workflowId, history: temporal.api.history.v1.History.fromObject(history) };
      }
    }
  }
  const broken: Broken[] = [];
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(replayOptions(), histories())) {
    if (!error) continue;
    const file = path.join(tmpdir(), `chaos-${runId}.json`);
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    writeFileSync(file, JSON.stringify(temporal.api.history.v1.History.fromObject(history)));
    const fault = `run ${runId} cannot be replayed (${file}): ${error.message.slice(0, 500)}`;
    broken.push({ orderId: workflowId.slice('order-'.length), fault });
  }
  return broken;
}
