import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { SectionResult } from './section';

const FILE = path.join(PACKAGE_ROOT, 'test/bench/results.json');

/** The last result of every section, so that a run of one section keeps the others. */
export interface Results {
  machine?: Record<string, string>;
  sections: Record<string, SectionResult>;
}

export function readResults(): Results {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Results) : { sections: {} };
}

export function writeResults(results: Results): void {
  writeFileSync(FILE, `${JSON.stringify(results, round, 1)}\n`);
}

/** Four digits are more than any measurement here is worth. */
const round = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value;
