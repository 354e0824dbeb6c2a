import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { findTemporalCli } from '../../tools/local-stack/temporal-cli';
import { type Cell, variantOf } from './cell';
import { CELLS, SHORT } from './cells';
import { createCleanup } from './cleanup';
import { explain } from './explain';
import type { Broken } from './invariants';
import { type RunOptions, type RunResult, runCell } from './run';
import { type ChaosStack, startChaosStack } from './stack';

/**
 * `npm run chaos -- --seeds N`: breaks the service under load, a cell with a seed at a time, and checks every invariant
 * for every order. `--cell NAME` (or a part of names) and `--seed S` select what runs and repeat it. `--part 1/4` makes the
 * first of four parts of it, for runners in parallel. `--short` runs the worst cells once.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    cell: { type: 'string', multiple: true },
    seed: { type: 'string' },
    part: { type: 'string', default: '1/1' },
    rate: { type: 'string', default: '12' },
    'old-root': { type: 'string' },
    list: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    report: { type: 'string' },
  },
});
/** Data grow with each run, and with them the time of every query. */
const RUNS_PER_STACK = 20;

const oldRoot = values['old-root'] === undefined ? undefined : path.resolve(values['old-root']);
const optionsOf = (seed: number): RunOptions => ({ seed, rate: Number(values.rate), oldRoot });

/** Of the stack that runs. */
let cleanup = createCleanup();
let isInterrupted = false;

interface Planned {
  cell: Cell;
  seed: number;
}

/** The cells of this name; if there is none, those whose names contain it. */
function named(name: string): Cell[] {
  const exact = CELLS.filter((cell) => cell.name === name);
  const found = exact.length > 0 ? exact : CELLS.filter((cell) => cell.name.includes(name));
  if (found.length === 0) throw new Error(`no cell is named ${name}: see --list`);
  return found;
}

function plan(): Planned[] {
  const cells = [...new Set((values.short ? SHORT : values.cell)?.flatMap(named) ?? CELLS)];
  const seeds =
    values.seed === undefined
      ? Array.from({ length: Number(values.seeds) }, (_, index) => index + 1)
      : [Number(values.seed)];
  const [part, parts] = partOf(values.part);
  const isOwn = (cell: Cell, seed: number): boolean => (CELLS.indexOf(cell) + seed) % parts === part - 1;
  return seeds.flatMap((seed) => cells.filter((cell) => isOwn(cell, seed)).map((cell) => ({ cell, seed })));
}

function partOf(text: string): [part: number, parts: number] {
  const [part = NaN, parts = NaN] = text.split('/').map(Number);
  if (!(part >= 1 && part <= parts)) throw new Error(`--part ${text} is not a part, such as 1/4`);
  return [part, parts];
}

function report(
  stack: ChaosStack,
  cell: Cell,
  { seed, variant, orders, calls, baseline = 0, recoveryMs, durationMs, broken, facts, ...parts }: RunResult,
): void {
  const { finishMs, quietMs, factsMs, replayMs } = parts;
  const seconds = (ms: number | null | undefined): string => (ms == null ? '–' : (ms / 1000).toFixed(1));
  console.log(
    `${broken.length === 0 ? 'ok    ' : 'BROKEN'} ${cell.name}${variant === undefined ? '' : ` (${variant})`}, seed ${seed}: ${orders} orders, ${calls} calls, ` +
      `${baseline.toFixed(0)} calls/s before, throughput back after ${seconds(recoveryMs)} s, ${seconds(durationMs)} s in all: ` +
      `${seconds(finishMs)} until all customers had left, ${seconds(quietMs)} until quiet, ${seconds(factsMs)} to read, ${seconds(replayMs)} to replay`,
  );
  if (broken.length === 0) return;
  console.log(explain(broken, facts, stack));
  const old = oldRoot === undefined ? '' : ` --old-root '${oldRoot}'`;
  console.log(`  again: npm run chaos -- --cell '${cell.name}' --seed ${seed} --rate ${values.rate}${old}`);
}

async function run(): Promise<number> {
  const planned = plan();
  if (values.list) {
    for (const { name, variants = [] } of CELLS) console.log([name, ...variants].join('\n  '));
    return 0;
  }
  await findTemporalCli(console.log);
  let stack: ChaosStack | undefined;
  let runs = 0;
  let [passed, failed, skipped] = [0, 0, 0];
  let hasStarted = true;
  // Repeated signals are ignored: npm passes on one that its process group has got too.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => void interrupt());
  try {
    for (const { cell, seed } of planned) {
      try {
        stack ??= await startStack();
        hasStarted = true;
      } catch (error) {
        // Twice in a row, it is not the load of the machine.
        if (isInterrupted || !hasStarted) throw error;
        hasStarted = false;
        await renewCleanup();
        console.error(error);
        failed += 1;
        continue;
      }
      const reason = cell.skip?.({ disk: stack.disk, oldRoot, variant: variantOf(cell, seed) });
      if (reason !== undefined) {
        console.log(`skip   ${cell.name}: ${reason}`);
        skipped += 1;
        continue;
      }
      const result = await attempt(stack, cell, seed);
      // The cleanup has broken the run.
      if (isInterrupted) return 1;
      const isBroken = result.broken.length > 0;
      // `restore` replaces processes, and with them their logs.
      if (isBroken) report(stack, cell, result);
      await stack.restore().catch((error: unknown) => result.broken.push(harnessError('the restoration', error)));
      if (!isBroken) report(stack, cell, result);
      if (result.broken.length === 0) passed += 1;
      else failed += 1;
      // What a failed run has left behind would disturb the next one.
      if (result.broken.length > 0 || ++runs === RUNS_PER_STACK) {
        await renewCleanup();
        stack = undefined;
        runs = 0;
      }
    }
  } finally {
    await cleanup.run();
  }
  if (values.report !== undefined) {
    const counts = {
      ...{ numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped },
      success: failed === 0,
    };
    writeFileSync(values.report, JSON.stringify(counts));
  }
  console.log(`${passed} runs without a broken invariant, ${failed} with, ${skipped} skipped`);
  return failed === 0 ? 0 : 1;
}

/** Tries twice: a machine under load can be too slow. */
async function startStack(): Promise<ChaosStack> {
  return startChaosStack(cleanup).catch(async (error: unknown) => {
    if (isInterrupted) throw error;
    console.error('the stack did not start, and is started again:', error);
    await renewCleanup();
    return startChaosStack(cleanup);
  });
}

const harnessError = (step: string, error: unknown): Broken => ({
  orderId: '',
  fault: `the harness failed at ${step}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
});

const failedRun = (cell: Cell, seed: number, step: string, error: unknown, durationMs = 0): RunResult => ({
  ...{ seed, variant: variantOf(cell, seed), orders: 0, calls: 0, durationMs },
  ...{ broken: [harnessError(step, error)], facts: new Map() },
});

/** Runs a cell. An error of the harness is a failed run, and the next one gets a stack of its own. */
async function attempt(stack: ChaosStack, cell: Cell, seed: number): Promise<RunResult> {
  const startedAt = performance.now();
  return runCell(stack, cell, optionsOf(seed)).catch((error: unknown) =>
    failedRun(cell, seed, 'the run', error, performance.now() - startedAt),
  );
}

async function renewCleanup(): Promise<void> {
  await cleanup.run();
  cleanup = createCleanup();
}

async function interrupt(): Promise<void> {
  isInterrupted = true;
  await cleanup.run();
  process.exit(130);
}

/** After an interrupt, the cleanup ends the process. */
function exit(code: number): void {
  if (!isInterrupted) process.exit(code);
}

void run().then(exit, (error: unknown) => {
  if (!isInterrupted) console.error(error);
  exit(1);
});
