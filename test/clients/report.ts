import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { Call } from './expected-calls';
import type { Generator } from './generators';

export interface Result {
  generator: Generator;
  /** Duration of all commands. */
  seconds: number;
  /** Lines of generated code. */
  lines: number;
  /** Number of different warnings of the generator, harmless ones too. */
  warnings: number;
  calls: readonly Call[];
  /** Unknown warnings, failed commands and calls with another result than expected. */
  wrong: string[];
}

const PAGE = path.join(PACKAGE_ROOT, 'docs/generated-clients.md');
const TABLE = /(?<=<!-- table: npm run generated-clients -->\n)[^]*(?=<!-- end of the table -->)/;

/** Counts the lines of the generated source code: a file, or the files of a folder with the extension. */
export async function countLines(place: string, extension: string): Promise<number> {
  const isFolder = (await stat(place).catch(() => undefined))?.isDirectory();
  if (isFolder === undefined) return 0;
  const names = isFolder ? await readdir(place, { recursive: true }) : [''];
  const files = names.map((name) => path.join(place, name)).filter((name) => name.endsWith(extension));
  const texts = await Promise.all(files.map((name) => readFile(name, 'utf8')));
  return texts.reduce((lines, text) => lines + text.split('\n').length - 1, 0);
}

export function printResult({ generator, seconds, lines, warnings, calls, wrong }: Result): void {
  console.log(`\n${generator.name} ${generator.version}: ${wrong.length === 0 ? 'passed' : 'FAILED'}`);
  console.log(`  ${generator.command}`);
  console.log(`  ${lines} lines, ${warnings} warnings, ${calls.length} calls, ${seconds} s`);
  for (const call of calls) console.log(`  ${JSON.stringify(call)}`);
  for (const one of wrong) console.log(`  wrong: ${one}`);
}

/** Replaces the table in docs/generated-clients.md. */
export async function writeTable(results: readonly Result[]): Promise<void> {
  const rows = results.map(({ generator: { name, version, command }, lines, warnings, calls }) =>
    [name, version, `\`${command}\``, lines.toLocaleString('en-GB'), warnings, calls.length].join(' | '),
  );
  const calls = results[0]?.calls.map(({ call }) => `\`${call}\``).join(', ');
  const table = [
    'generator | version | command | lines | warnings | calls',
    '---|---|---|--:|--:|--:',
    ...rows,
    '',
    `Last run: ${new Date().toISOString().slice(0, 10)}. Calls: ${calls}.`,
    '',
  ].join('\n');
  await writeFile(
    PAGE,
    (await readFile(PAGE, 'utf8')).replace(TABLE, () => table),
  );
}
