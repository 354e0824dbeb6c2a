import { existsSync } from 'node:fs';
import path from 'node:path';

/** The folder of package.json: the same for the sources and for what is compiled to `dist/`. */
export const PACKAGE_ROOT = findUp(__dirname);

/** Where `npm start` keeps its data. */
export function dataDir(env: Readonly<Record<string, string | undefined>>): string {
  return env.DATA_DIR || path.join(PACKAGE_ROOT, '.data');
}

/** What `npm start` tells of itself, for a shell and the CLI. */
export function demoEnvFile(env: Readonly<Record<string, string | undefined>>): string {
  return path.join(dataDir(env), 'demo.env');
}

function findUp(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : findUp(path.dirname(folder));
}
