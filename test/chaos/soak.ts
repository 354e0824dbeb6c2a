import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findTemporalCli } from '../../tools/local-stack/temporal-cli';
import { markdownTable } from '../bench/table';
import { exitWith } from '../support/exit-with';
import type { Cell } from './cell';
import { createCleanup } from './cleanup';
import { explain } from './explain';
import type { Part } from './part';
import { runCell } from './run';
import { relaunch } from './service-part';
import { partsOf, startChaosStack } from './stack';

/**
 * `npm run soak -- --minutes 30 --rate 4`: lets the service work at a steady load, samples memory, connections and handles of every
 * process, and checks every invariant at the end. Prints the numbers.
 */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, rate: { type: 'string', default: '4' } },
});
const SAMPLE_MS = 5000;
/** Full within the first third. The default of 500 fills later at this load, and a worker then grows without a leak. */
const SMALL_CACHE = { MAX_CACHED_WORKFLOWS: '100' };
/**
 * Caches fill first: the start is the minimum of the tenth of the samples after the first third, the end that of the last.
 * A leak raises the minimum, a busy moment does not.
 */
const TENTH = 10;
const WARM_UP_PART = 1 / 3;
/** Growth from start to end that counts as flat: noise of a garbage collector, and of a pool. */
const FLAT = { memory: 1.15, connections: 1.2, handles: 1.2 };
/** Their caches have limits of their own, which 30 minutes do not reach: 128,000 workflows and 256 MB of events, 128 MB of pages. */
const FILLS_CACHES = ['Temporal', 'Postgres'];

/** What one part uses, over all of its processes. Memory in MB. */
interface Usage {
  memory: number;
  connections: number;
  handles: number;
}

type Measure = keyof Usage;
const MEASURES: Measure[] = ['memory', 'connections', 'handles'];

interface Sample {
  /** Seconds since the start. */
  at: number;
  usage: Record<string, Usage>;
}

/** Shared memory counts in proportion, so that the processes of Postgres add up. */
function usageOf(part: Part): Usage {
  const sum: Usage = { memory: 0, connections: 0, handles: 0 };
  for (const pid of part.pids()) {
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      sum.memory += Number(/^Pss:\s*(\d+) kB$/m.exec(rollup)?.[1] ?? 0) / 1024;
      const handles = readdirSync(`/proc/${pid}/fd`);
      sum.handles += handles.length;
      sum.connections += handles.filter((fd) => isSocket(`/proc/${pid}/fd/${fd}`)).length;
    } catch {
      // A process of Postgres that has just ended.
    }
  }
  return sum;
}

function isSocket(file: string): boolean {
  try {
    return readlinkSync(file).startsWith('socket:');
  } catch {
    return false;
  }
}

async function sampleFor(parts: readonly Part[], ms: number): Promise<Sample[]> {
  const startedAt = performance.now();
  const samples: Sample[] = [];
  // The usage of a part that has ended would be flat. The check at the end of the run reports it.
  while (performance.now() < startedAt + ms && parts.every((part) => part.isRunning())) {
    await delay(SAMPLE_MS);
    const at = (performance.now() - startedAt) / 1000;
    samples.push({ at, usage: Object.fromEntries(parts.map((part) => [part.name, usageOf(part)])) });
  }
  return samples;
}

/** How a measure of a part developed. */
function growthOf(samples: readonly Sample[], name: string, measure: Measure) {
  const list = samples.map(({ usage }) => usage[name]![measure]);
  const tenth = Math.max(1, Math.floor(list.length / TENTH));
  const warm = Math.floor(list.length * WARM_UP_PART);
  const [start, end] = [Math.min(...list.slice(warm, warm + tenth)), Math.min(...list.slice(-tenth))];
  // One connection more or less is none.
  return { start, end, max: Math.max(...list), isFlat: end <= Math.max(start * FLAT[measure], start + 2) };
}

function report(samples: readonly Sample[], names: readonly string[]): { table: string; growing: string[] } {
  const growing: string[] = [];
  const rows = names.map((name) => [
    name,
    ...MEASURES.map((measure) => {
      const { start, end, max, ...growth } = growthOf(samples, name, measure);
      const isFlat = growth.isFlat || (measure === 'memory' && FILLS_CACHES.includes(name));
      if (!isFlat) growing.push(`${measure} of ${name}: ${Math.round(start)} -> ${Math.round(end)}`);
      return `${Math.round(start)} / ${Math.round(end)} / ${Math.round(max)}${isFlat ? '' : ' **grows**'}`;
    }),
  ]);
  const head = ['process', 'memory, MB: start / end / most', 'connections', 'handles'];
  return { table: markdownTable(head, rows), growing };
}

async function run(): Promise<number> {
  const minutes = Number(values.minutes);
  await findTemporalCli(console.log);
  const cleanup = createCleanup();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => void cleanup.run().then(() => process.exit(130)));
  try {
    const stack = await startChaosStack(cleanup, false);
    await relaunch(stack.workers, SMALL_CACHE);
    const parts = partsOf(stack).filter(({ name }) => name !== stack.receiver.name);
    const names = parts.map(({ name }) => name);
    let samples: Sample[] = [];
    const cell: Cell = {
      name: 'soak',
      strike: async () => void (samples = await sampleFor(parts, minutes * 60_000)),
    };
    const result = await runCell(stack, cell, { seed: 1, rate: Number(values.rate), oldRoot: undefined });
    if (result.broken.length > 0) console.log(explain(result.broken, result.facts, stack));
    const { table, growing } = report(samples, names);
    const summary =
      `${minutes} minutes with ${values.rate} new orders a second: ${result.orders} orders, ${result.calls} calls, ` +
      `${result.broken.length} broken invariants. \`npm run soak -- --minutes ${minutes} --rate ${values.rate}\`, ` +
      `${new Date().toISOString().slice(0, 10)}.`;
    console.log(`\n${summary}\n\n${table}`);
    for (const line of growing) console.log(`grows: ${line}`);
    return growing.length + result.broken.length === 0 ? 0 : 1;
  } finally {
    await cleanup.run();
  }
}

exitWith(run());
