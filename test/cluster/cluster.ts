import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../../src/entry-point';
import { variantOf } from '../chaos/cell';
import type { RunResult } from '../chaos/run';
import { CELLS } from './cells';
import type { PhaseFigures } from './measure';
import { buildTemporal, lacking } from './programs';

/**
 * `npm run cluster`: breaks two hosts with a Temporal cluster and two Postgres servers under the load of chaos runs, a cell with a seed at a
 * time, checks every invariant for every order, and prints how long which calls failed. `--cell NAME` (or a part of names)
 * selects cells, `--seeds N` how many seeds of each, `--seed S` one of them. `--old-root` is the folder of another release with its `dist/`.
 * `--temporal` breaks the Temporal hosts alone, without the service: six minutes, on a busy machine too.
 */
const { values } = parseArgs({
  options: {
    cell: { type: 'string', multiple: true, default: [''] },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    rate: { type: 'string', default: '3' },
    'old-root': { type: 'string', default: '' },
    temporal: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

type Result = Omit<RunResult, 'facts'> & { figures: PhaseFigures[] };

/** All that a run starts and mounts ends with its first process, however that ends. */
const IN_NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

async function runInNamespaces(cell: string, seed: number): Promise<Result | undefined> {
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-cluster-'));
  const script = [path.join(__dirname, 'run-cell.js'), cell, String(seed), values.rate, folder, values['old-root']];
  // The proxies' certificates are self-signed.
  const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' };
  try {
    const child = spawn('unshare', [...IN_NAMESPACES, process.execPath, ...script], {
      env,
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    await once(child, 'exit');
    const file = path.join(folder, 'result.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Result) : undefined;
  } finally {
    if (values.keep) console.log(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

const seconds = (ms: number | null | undefined): string => (ms == null ? '–' : (ms / 1000).toFixed(1));

function report(name: string, { seed, variant, orders, calls, baseline = 0, broken, figures }: Result): void {
  const title = `${name}${variant === undefined ? '' : ` (${variant})`}, seed ${seed}`;
  console.log(
    `${broken.length === 0 ? 'ok    ' : 'BROKEN'} ${title}: ${orders} orders, ${calls} calls, ${baseline.toFixed(0)} calls/s before`,
  );
  for (const { phase, calls: of, backAfter } of figures) {
    const parts = Object.entries(of).map(([kind, { gap, longest }]) => `${kind} ${seconds(gap)}, ${seconds(longest)}`);
    console.log(
      `       ${phase}: longest without a success, longest call: ${parts.join('; ')}; as before after ${seconds(backAfter)} s`,
    );
  }
}

async function run(): Promise<number> {
  if (values.list) {
    for (const { name, variants = [] } of CELLS) console.log([name, ...variants].join('\n  '));
    return 0;
  }
  const problem = lacking();
  if (problem !== undefined) throw new StartError(problem);
  buildTemporal();
  if (values.temporal) return (await runInNamespaces('temporal', 0)) ? 0 : 1;
  const cells = CELLS.filter(({ name }) => values.cell.some((part) => name.includes(part)));
  if (cells.length === 0) throw new StartError('no cell has this name: see --list');
  let failed = 0;
  for (const cell of cells) {
    const count = Number(values.seeds ?? cell.variants?.length ?? 1);
    const seeds =
      values.seed === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(values.seed)];
    for (const seed of seeds) {
      const result = await runInNamespaces(cell.name, seed);
      if (result) report(cell.name, result);
      else console.log(`FAILED ${cell.name} (${variantOf(cell, seed)}), seed ${seed}: the harness failed`);
      if (!result || result.broken.length > 0) failed += 1;
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
