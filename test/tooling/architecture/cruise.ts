import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../../src/package';

export interface Violation {
  rule: string;
  from: string;
  to: string;
}

interface Report {
  summary: { totalCruised: number; violations: { rule: { name: string }; from: string; to: string }[] };
}

/** Checks the import rules of `.dependency-cruiser.mjs` on the source folders below `root`. */
export async function cruise(root: string): Promise<{ totalCruised: number; violations: Violation[] }> {
  const depcruise = path.join(PACKAGE_ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const config = path.join(PACKAGE_ROOT, '.dependency-cruiser.mjs');
  const args = [
    depcruise,
    '--config',
    config,
    '--output-type',
    'json',
    'src',
    'workflows',
    'activities',
    'tools',
    'packages/client/src',
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  const { summary } = JSON.parse(stdout) as Report;
  const violations = summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to }));
  return { totalCruised: summary.totalCruised, violations };
}
