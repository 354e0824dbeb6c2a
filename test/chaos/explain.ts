import type { Broken } from './invariants';
import type { OrderFacts } from './facts';
import type { ChaosStack } from './stack';

const MAX_FAULTS = 30;
const MAX_EXPLAINED = 3;
const MAX_LINES = 6;
const MAX_LINE = 300;

/** What a failed run prints: the broken invariants, and the timelines and logs of the first orders that break one. */
export function explain(
  broken: readonly Broken[],
  facts: ReadonlyMap<string, OrderFacts>,
  { apis, workers }: Pick<ChaosStack, 'apis' | 'workers'>,
): string {
  const faults = broken.map(({ orderId, fault }) => `  ${orderId || 'run'}: ${fault}`);
  const named = broken.flatMap(({ orderId, fault }) => [
    orderId,
    /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(fault)?.[0],
  ]);
  const ids = [...new Set(named)].filter((id) => id !== undefined && facts.has(id)) as string[];
  const logs = (id: string): string[] =>
    [...apis, ...workers].flatMap((part) =>
      part
        .log()
        .filter((line) => line.includes(id))
        .slice(-MAX_LINES)
        .map((line) => `    ${part.name}: ${line.slice(0, MAX_LINE)}`),
    );
  return [
    ...faults.slice(0, MAX_FAULTS),
    ...ids.slice(0, MAX_EXPLAINED).flatMap((id) => [timeline(facts.get(id)!), ...logs(id)]),
  ].join('\n');
}

function timeline({ id, status, version, changes, events, runs, received }: OrderFacts): string {
  return [
    `  order ${id}: row at version ${version}, ${status}`,
    ...changes.map((change) => `    change ${change.version}: ${change.event}, ${change.from} to ${change.to}`),
    ...events.map(
      ({ id: event, sequence, state, attempts }) =>
        `    webhook ${sequence} (${event}): ${state}; attempts ${attempts.map((one) => `${one.attempt}:${one.status}`).join(' ')}`,
    ),
    ...received.map(
      (call) =>
        `    received ${new Date(call.at).toISOString()} webhook ${call.sequence} (${call.id}): ${call.status ?? 'no response'}`,
    ),
    ...runs.map((run) => `    run ${run.runId}: ${run.status} ${JSON.stringify(run.result ?? {})}`),
  ].join('\n');
}
