import { setTimeout as delay } from 'node:timers/promises';
import { spawnCli } from '../support/cli';
import type { Scene } from './cell';
import type { Allowances } from './invariants';
import { restart } from './part';

const REPAIRED_WITHIN_MS = 150_000;
const BETWEEN_MS = 3000;

interface Difference {
  order_id: string;
  difference: string;
  repair?: string;
}

const isLost = ({ difference }: Difference): boolean => difference === 'row_missing';

/** Runs `reconcile --repair` once, as an operator does, and remembers which orders it reported as lost. */
async function repairOnce({ stack, memory }: Scene): Promise<Difference[]> {
  const run = await spawnCli(['--json', 'reconcile', '--repair'], stack.env());
  if (!run.stdout.endsWith('}\n')) throw new Error(`reconcile failed: ${run.stderr}`);
  const { differences } = run.json() as { differences: Difference[] };
  const lost = lostOf(memory);
  for (const one of differences) if (isLost(one)) lost.add(one.order_id);
  return differences;
}

/** Repeats it until nothing differs that it can repair. */
export async function repairAll(scene: Scene): Promise<void> {
  const deadline = performance.now() + REPAIRED_WITHIN_MS;
  for (;;) {
    const left = (await repairOnce(scene)).filter((one) => !isLost(one));
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      throw new Error(`reconcile --repair does not end: ${JSON.stringify(left.slice(0, 5))}`);
    }
    await delay(BETWEEN_MS);
  }
}

/** Restores a store as docs/operators/backups.md describes: no traffic until `reconcile` has repaired what differs. */
export async function restoreAndRepair(scene: Scene, restore: () => Promise<void>): Promise<void> {
  const { apis, workers } = scene.stack;
  await Promise.all([...apis, ...workers].map((part) => part.end('SIGTERM')));
  await restore();
  // The checkout would report decisions and payments to orders that lack changes.
  for (const worker of workers) worker.relaunchWith({ env: { WORKER_QUEUES: 'orders,webhooks' } });
  await Promise.all(workers.map((worker) => worker.start()));
  await repairAll(scene);
  for (const worker of workers) worker.relaunchWith({});
  await Promise.all(workers.map((worker) => restart(worker, 'SIGTERM')));
  await Promise.all(apis.map((api) => api.start()));
}

/** After a store was restored to its state at `from`, as it was until `to`. */
export const restoredBetween = (memory: Scene['memory']): Allowances => ({
  restored: {
    from: (memory.get('from') as number | undefined) ?? -Infinity,
    to: (memory.get('to') as number | undefined) ?? Infinity,
  },
  reportedLost: lostOf(memory),
  failedRuns: 'all',
});

/** The orders that `reconcile` reported as lost. */
export function lostOf(memory: Scene['memory']): Set<string> {
  if (!memory.has('lost')) memory.set('lost', new Set<string>());
  return memory.get('lost') as Set<string>;
}
