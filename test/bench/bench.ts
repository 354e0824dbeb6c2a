import { parseArgs } from 'node:util';
import { exitWith } from '../support/exit-with';
import { describeMachine } from './machine';
import { markdownTable, rowLine, rowsTable } from './table';
import type { Row } from './section';
import { SECTIONS } from './sections';
import { type Servers, startServers } from './servers';
import { seeded } from '../chaos/seeded';

/**
 * `npm run bench`: compares the service with bare Temporal and with other ways to do the same job, and prints its
 * tables. All arms run one at a time on one Postgres and one Temporal server, in blocks, in random order.
 *
 * `--only <section>` (repeatable) runs some sections, `--blocks <n>` more or fewer blocks, `--seed <n>` another order,
 * `--short` small sizes.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    blocks: { type: 'string' },
    seed: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false },
  },
});

const names = values.only ?? Object.keys(SECTIONS);
const unknown = names.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  console.error(`no section ${unknown.join(', ')}: choose from ${Object.keys(SECTIONS).join(', ')}`);
  process.exit(2);
}
const blocks = Number(values.blocks ?? (values.short ? 1 : 5));

/** @returns the rows that have a goal, and the names of the sections that failed */
async function runSections(servers: Servers): Promise<{ goals: Row[]; failed: string[] }> {
  const goals: Row[] = [];
  const failed: string[] = [];
  for (const name of names) {
    const section = SECTIONS[name]!;
    const begun = Date.now();
    console.log(`\n${name}: ${section.about}`);
    try {
      const random = seeded(Number(values.seed)).next;
      const result = await section.run({ servers, blocks, short: values.short, random });
      for (const row of result.rows) console.log(`  ${rowLine(row)}`);
      for (const { title, header, rows } of result.tables ?? []) {
        console.log(`  ${title}\n${markdownTable(header, rows)}`);
      }
      goals.push(...result.rows.filter(({ goal }) => goal));
    } catch (error) {
      console.error(error);
      failed.push(name);
    } finally {
      await servers.stopArms();
    }
    console.log(`  ${Math.round((Date.now() - begun) / 1000)} s`);
  }
  return { goals, failed };
}

async function run(): Promise<number> {
  const servers = await startServers();
  try {
    const { goals, failed } = await runSections(servers);
    console.log(`\n${markdownTable(['part', 'version or size'], Object.entries(await describeMachine(servers)))}`);
    console.log(`\nMedians of ${blocks} blocks\n${rowsTable(goals)}`);
    for (const name of failed) console.error(`failed: ${name}`);
    return failed.length > 0 ? 1 : 0;
  } finally {
    await servers.stop();
  }
}

exitWith(run());
