import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT } from '../../src/package';
import { exitWith } from '../support/exit-with';
import { readResults, writeResults } from './results';
import { describeMachine } from './machine';
import { renderPages } from './page';
import { profile } from './profile';
import { markdownTable, rowLine } from './table';
import { SECTIONS } from './sections';
import { type Servers, startServers } from './servers';
import { seededRandom } from './statistics';

/**
 * `npm run bench`: compares the service with bare Temporal and with other ways to do the same job, and writes the
 * tables and plots of docs/performance.md and docs/scale.md. All arms run one at a time on one Postgres and one
 * Temporal server, in blocks, in random order.
 *
 * `--only <section>` (repeatable) runs some sections, `--blocks <n>` more or fewer blocks, `--seed <n>` another order,
 * `--short` small sizes without writing anything, `--render` writes the pages from the last results, `--profile`
 * records CPU profiles of the processes during whole orders instead.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    blocks: { type: 'string' },
    seed: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false },
    render: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
});

const names = values.only ?? Object.keys(SECTIONS);
const unknown = names.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  console.error(`no section ${unknown.join(', ')}: choose from ${Object.keys(SECTIONS).join(', ')}`);
  process.exit(2);
}
const blocks = Number(values.blocks ?? (values.short ? 1 : 5));

function installPeers(): void {
  const folder = path.join(PACKAGE_ROOT, 'test/bench');
  if (existsSync(path.join(folder, 'node_modules'))) return;
  console.log('installing the peers');
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'inherit' });
}

/** @returns the names of the sections that failed */
async function runSections(servers: Servers): Promise<string[]> {
  const failed: string[] = [];
  for (const name of names) {
    const section = SECTIONS[name]!;
    const begun = Date.now();
    console.log(`\n${name}: ${section.about}`);
    try {
      const random = seededRandom(Number(values.seed));
      const result = await section.run({ servers, blocks, short: values.short, random });
      for (const row of result.rows) console.log(`  ${rowLine(row)}`);
      for (const { title, header, rows } of result.tables ?? []) {
        console.log(`  ${title}\n${markdownTable(header, rows)}`);
      }
      if (!values.short) {
        const { sections } = readResults();
        writeResults({ machine: await describeMachine(servers), sections: { ...sections, [name]: result } });
      }
    } catch (error) {
      console.error(error);
      failed.push(name);
    } finally {
      await servers.stopArms();
    }
    console.log(`  ${Math.round((Date.now() - begun) / 1000)} s`);
  }
  return failed;
}

async function run(): Promise<number> {
  if (values.render) {
    renderPages();
    return 0;
  }
  installPeers();
  const servers = await startServers();
  try {
    if (values.profile) {
      await profile(servers);
      return 0;
    }
    const failed = await runSections(servers);
    for (const name of failed) console.error(`failed: ${name}`);
    if (!values.short) renderPages();
    return failed.length > 0 ? 1 : 0;
  } finally {
    await servers.stop();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
exitWith(run());
