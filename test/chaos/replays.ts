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

/** The runs that were replayed, by their id, with what is wrong: a worker that drops one from its cache cannot continue it. */
export type Replayed = Map<string, Broken[]>;

/** Replays the runs of these sellers' orders that are not among the replayed ones yet, and adds them. */
export async function replayRuns(
  { client }: ChaosStack,
  sellerIds: readonly string[],
  replayed: Replayed,
  options: {
    /** Runs that started before this time (unix ms) are left out. */
    cachedUntil?: number | undefined;
    onlyClosed?: boolean;
  },
): Promise<void> {
  const { cachedUntil = 0, onlyClosed = false } = options;
  if (!isInstalled) installTemporalRuntime(pino({ level: 'silent' }), undefined);
  isInstalled = true;
  async function* histories() {
    for (const sellerId of sellerIds) {
      const query = `SellerId = '${sellerId}'${onlyClosed ? ` and ExecutionStatus != 'Running'` : ''}`;
      for await (const { workflowId, runId, startTime } of client.workflow.list({ query })) {
        if (startTime.getTime() < cachedUntil || replayed.has(runId)) continue;
        const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        // The replay of a run that has not begun never ends.
        if (!history.events?.some(({ workflowTaskCompletedEventAttributes: completed }) => completed)) continue;
        yield { workflowId, history: temporal.api.history.v1.History.fromObject(history) };
      }
    }
  }
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(replayOptions(), histories())) {
    replayed.set(runId, []);
    if (!error) continue;
    const fault = `run ${runId} cannot be replayed (${fileOf(runId)}): ${error.message.slice(0, 500)}`;
    replayed.set(runId, [{ orderId: workflowId.slice('order-'.length), fault }]);
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    writeFileSync(fileOf(runId), JSON.stringify(temporal.api.history.v1.History.fromObject(history)));
  }
}

const fileOf = (runId: string): string => path.join(tmpdir(), `chaos-${runId}.json`);
