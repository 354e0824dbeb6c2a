import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { WORKFLOW_BUNDLES } from '../../src/temporal/workflow-bundle';
import type { Broken } from './invariants';
import type { ChaosStack } from './stack';

let isInstalled = false;

/** How many of a stack's runs with the same events are replayed: a replay takes 40 ms of processor time, and most are alike. */
const ALIKE_MAX = 3;

/** The runs that were replayed, or left out, by their id, with what is wrong: a worker that drops one from its cache cannot continue it. */
export type Replayed = Map<string, Broken[]>;

/** Replays the runs of these sellers' orders that are not among the replayed ones yet, and adds them. */
export async function replayRuns(
  { client, db, alike }: ChaosStack,
  sellerIds: readonly string[],
  replayed: Replayed,
  { onlyClosed = false } = {},
): Promise<void> {
  if (!isInstalled) installTemporalRuntime(pino({ level: 'silent' }), undefined);
  isInstalled = true;
  async function* runs(): AsyncGenerator<{ workflowId: string; runId: string }> {
    for (const sellerId of sellerIds) {
      const query = `SellerId = '${sellerId}'${onlyClosed ? ` and ExecutionStatus != 'Running'` : ''}`;
      yield* client.workflow.list({ query });
    }
    if (onlyClosed) return;
    const { rows } = await db.query<{ id: string }>(
      'select order_id as id from application a join orders o on o.id = order_id where seller_id = any($1)',
      [sellerIds],
    );
    for (const { id } of rows) {
      const checkout = await client.workflow
        .getHandle(`checkout-${id}`)
        .describe()
        .catch(() => undefined);
      if (checkout) yield checkout;
    }
  }
  async function* histories(queue: keyof typeof WORKFLOW_BUNDLES) {
    for await (const { workflowId, runId } of runs()) {
      if (workflowId.startsWith('checkout-') !== (queue === 'checkout') || replayed.has(runId)) continue;
      const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      // The replay of a run that has not begun never ends.
      if (!history.events?.some(({ workflowTaskCompletedEventAttributes: completed }) => completed)) continue;
      const events = eventsOf(history);
      const count = (alike.get(events) ?? 0) + 1;
      alike.set(events, count);
      if (count > ALIKE_MAX) {
        replayed.set(runId, []);
        continue;
      }
      yield { workflowId, history: temporal.api.history.v1.History.fromObject(history) };
    }
  }
  await replay('orders');
  await replay('checkout');

  async function replay(queue: keyof typeof WORKFLOW_BUNDLES): Promise<void> {
    for await (const { workflowId, runId, error } of Worker.runReplayHistories(
      { workflowBundle: { codePath: WORKFLOW_BUNDLES[queue] } },
      histories(queue),
    )) {
      replayed.set(runId, []);
      if (!error) continue;
      const fault = `run ${runId} cannot be replayed: ${error.message.slice(0, 500)}`;
      replayed.set(runId, [{ orderId: workflowId.replace(/^(order|checkout)-/, ''), fault }]);
      const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      // Not part of the fault, which is recorded in the repository.
      const file = path.join(tmpdir(), `chaos-${runId}.json`);
      writeFileSync(file, JSON.stringify(temporal.api.history.v1.History.fromObject(history)));
      console.log(`history of run ${runId}: ${file}`);
    }
  }
}

/** The events of a history, in order, with the names of activities and messages. */
function eventsOf({ events }: temporal.api.history.v1.IHistory): string {
  const names = events?.map((event) => [
    event.eventType,
    event.activityTaskScheduledEventAttributes?.activityType?.name,
    event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.name,
    event.workflowExecutionSignaledEventAttributes?.signalName,
  ]);
  return JSON.stringify(names);
}
