import { setTimeout as delay } from 'node:timers/promises';
import { spawnCli } from '../support/cli';
import type { Scene } from './cell';

const REPAIRED_WITHIN_MS = 150_000;
const BETWEEN_MS = 3000;

interface Difference {
  order_id: string;
  difference: string;
  repair?: string;
}

/** The repairs that state that something of an order is lost. */
const LOST = ['rebuilt', 'no_history', 'no_account', 'no_redirect_url', 'reference_taken'];

/** Runs `reconcile --repair` once, as an operator does, and remembers which orders it reported as lost or rebuilt. */
export async function repairOnce({ stack, memory }: Scene, ...options: string[]): Promise<Difference[]> {
  const since = new Date((memory.get('startedAt') as number) - 1000).toISOString();
  const run = await spawnCli(['--json', 'reconcile', '--repair', '--since', since, ...options], stack.env());
  if (!run.stdout.endsWith('}\n')) throw new Error(`reconcile failed: ${run.stderr}`);
  const { differences } = run.json() as { differences: Difference[] };
  const lost = lostOf(memory);
  for (const { order_id: id, repair = '' } of differences) if (LOST.includes(repair)) lost.add(id);
  return differences;
}

/** Repeats it until nothing differs that it can repair. */
export async function repairAll(scene: Scene, ...options: string[]): Promise<void> {
  const deadline = performance.now() + REPAIRED_WITHIN_MS;
  for (;;) {
    const left = (await repairOnce(scene, ...options)).filter(({ repair = '' }) => !LOST.includes(repair));
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      throw new Error(`reconcile --repair does not end: ${JSON.stringify(left.slice(0, 5))}`);
    }
    await delay(BETWEEN_MS);
  }
}

/**
 * Repeats it under load until two in a row leave no order without a row that can have one: Temporal lists a run that
 * was being started a moment later. Orders that change under load differ all the time.
 */
export async function rebuildRows(scene: Scene): Promise<void> {
  const deadline = performance.now() + REPAIRED_WITHIN_MS;
  for (let clean = 0; clean < 2 && performance.now() < deadline;) {
    if (clean > 0) await delay(BETWEEN_MS);
    const differences = await repairOnce(scene);
    const isLeft = differences.some((one) => one.difference === 'row_missing' && !LOST.includes(one.repair ?? ''));
    clean = isLeft ? 0 : clean + 1;
  }
}

/** The orders that `reconcile` reported as lost or rebuilt. */
export function lostOf(memory: Scene['memory']): Set<string> {
  if (!memory.has('lost')) memory.set('lost', new Set<string>());
  return memory.get('lost') as Set<string>;
}
