import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { fillIn } from './fill-in';
import { PLOTS } from './plots';
import { type Results, readResults } from './results';
import { planTable } from './scale-plan';
import type { SectionResult } from './section';
import { SECTIONS } from './sections';
import { markdownTable, rowsTable } from './table';

const DOCS = path.join(PACKAGE_ROOT, 'docs');

/** Writes the generated parts of the pages, and the plots, from the last results. All other text is left as it is. */
export function renderPages(): void {
  const results = readResults();
  const parts = partsOf(results);
  mkdirSync(path.join(DOCS, 'images'), { recursive: true });
  for (const { part, file, alt, draw } of PLOTS) {
    const svg = draw(results.sections);
    if (svg === undefined) continue;
    writeFileSync(path.join(DOCS, 'images', file), svg);
    parts[part] = `${parts[part]!}\n\n![${alt}](images/${file})`;
  }
  for (const page of ['performance.md', 'scale.md']) {
    const file = path.join(DOCS, page);
    writeFileSync(file, fillIn(readFileSync(file, 'utf8'), parts));
  }
}

function partsOf({ machine, sections }: Results): Record<string, string> {
  const parts = Object.fromEntries(
    Object.entries(SECTIONS)
      .filter(([name]) => name in sections)
      .map(([name, { about }]) => [name, sectionText(about, sections[name]!)]),
  );
  const goals = Object.keys(SECTIONS).flatMap((name) => sections[name]?.rows.filter(({ goal }) => goal) ?? []);
  const cost = sections.cost;
  return {
    ...parts,
    summary: rowsTable(goals),
    ...(machine && { machine: markdownTable(['part', 'version or size'], Object.entries(machine)) }),
    ...(cost && {
      'cost-tables': (cost.tables ?? []).map(({ header, rows }) => markdownTable(header, rows)).join('\n\n'),
      plan: planTable(cost),
    }),
  };
}

function sectionText(about: string, { blocks, rows, tables = [] }: SectionResult): string {
  const often = blocks === 1 ? 'Measured once.' : `Medians of ${blocks} blocks.`;
  const extra = tables.map(({ title, header, rows: cells }) => `${title}:\n\n${markdownTable(header, cells)}`);
  return [`${about} ${often}`, rowsTable(rows), ...extra].join('\n\n');
}
