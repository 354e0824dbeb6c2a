import { readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
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
