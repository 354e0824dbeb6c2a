import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../../src/entry-point';
import { type Cleanup, createCleanup } from '../chaos/cleanup';
import { explain } from '../chaos/explain';
import { runCell } from '../chaos/run';
import { CELLS, type ClusterCell } from './cells';
import { SETUPS, costOf } from './cost';
import { buildTemporal, lacking } from './programs';
import { copyBuild } from './servers';
import { startClusterStack } from './stack';

/**
 * `npm run cluster`: breaks two hosts with a Temporal cluster and two Postgres servers under the load of chaos runs, a cell with a seed at a
 * time, checks every invariant for every order, and prints how long which calls failed. `--cell NAME` (or a part of names)
 * selects cells, `--seeds N` how many seeds of each, `--seed S` one of them. `--old-root` is the folder of another release with its `dist/`.
 * `--cost` breaks nothing: it prints what a whole order costs, of processor time, statements and WAL.
 */
const { values } = parseArgs({
  options: {
    cell: { type: 'string', multiple: true, default: [''] },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    rate: { type: 'string', default: '1.5' },
    'old-root': { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    cost: { type: 'boolean', default: false },
    /** Of the setups of `--cost`. */
    setup: { type: 'string' },
    /** The folder of a run: this process has namespaces of its own. */
    inside: { type: 'string' },
  },
});

/** All that a run starts and mounts ends with its first process, however that ends. */
const IN_NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** @returns true if no invariant is broken */
async function runInNamespaces(given: Record<string, string>): Promise<boolean> {
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-cluster-'));
  const options = Object.entries({ ...given, inside: folder }).map(([name, value]) => `--${name}=${value}`);
  // The proxies' certificates are self-signed.
  const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' };
  try {
    const child = spawn('unshare', [...IN_NAMESPACES, process.execPath, __filename, ...options], {
      env,
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    return (await once(child, 'exit'))[0] === 0;
  } finally {
    if (values.keep) console.log(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

/** Does the work of a process with namespaces of its own. @returns true if it has succeeded */
async function runInside(work: (cleanup: Cleanup) => Promise<boolean>): Promise<boolean> {
  // All processes end with this one, also if its parent is killed.
  process.stdin.resume().on('end', () => process.exit(1));
  const cleanup = createCleanup();
  try {
    return await work(cleanup);
  } finally {
    await cleanup.run();
  }
}

async function breakHosts(cleanup: Cleanup, folder: string, cell: ClusterCell, seed: number): Promise<boolean> {
  const stack = await startClusterStack(cleanup, folder, cell);
  const oldRoot = values['old-root'] || copyBuild(folder, '9.9.9');
  const options = { seed, rate: Number(values.rate), oldRoot };
  const { broken, facts, variant, orders, calls } = await runCell(stack, cell, options);
  const name = `${cell.name}${variant === undefined ? '' : ` (${variant})`}, seed ${seed}`;
  console.log(`${broken.length === 0 ? 'ok' : 'BROKEN'}: ${name}: ${orders} orders, ${calls} calls\n${cell.table()}`);
  if (broken.length > 0) console.log(explain(broken, facts, stack));
  return broken.length === 0;
}

async function measureCost(cleanup: Cleanup, folder: string, setup: number): Promise<boolean> {
  console.log(await costOf(cleanup, folder, SETUPS[setup]!));
  return true;
}

async function run(): Promise<number> {
  if (values.list) {
    for (const { name, variants = [] } of CELLS) console.log([name, ...variants].join('\n  '));
    return 0;
  }
  const cells = CELLS.filter(({ name }) => values.cell.some((part) => name.includes(part)));
  if (cells.length === 0) throw new StartError('no cell has this name: see --list');
  const { inside: folder, setup, seed } = values;
  if (folder !== undefined) {
    const isDone = await runInside((cleanup) =>
      setup === undefined
        ? breakHosts(cleanup, folder, cells[0]!, Number(seed))
        : measureCost(cleanup, folder, Number(setup)),
    );
    return isDone ? 0 : 1;
  }
  const problem = lacking();
  if (problem !== undefined) throw new StartError(problem);
  buildTemporal();
  let failed = 0;
  if (values.cost) {
    for (const setup of SETUPS.keys()) if (!(await runInNamespaces({ setup: `${setup}` }))) failed += 1;
    return failed === 0 ? 0 : 1;
  }
  for (const { name, variants } of cells) {
    const count = Number(values.seeds ?? variants?.length ?? 1);
    const seeds = seed ? [Number(seed)] : Array.from({ length: count }, (_, index) => index + 1);
    for (const one of seeds) {
      const given = { cell: name, seed: `${one}`, rate: values.rate, 'old-root': values['old-root'] };
      if (!(await runInNamespaces(given))) failed += 1;
    }
  }
  return failed === 0 ? 0 : 1;
}

run().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof StartError ? error.message : error);
    process.exit(1);
  },
);
