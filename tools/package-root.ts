import { existsSync } from 'node:fs';
import path from 'node:path';

/** The folder of package.json, for the sources and for the compiled files in `dist/`. */
export const PACKAGE_ROOT = findUp(__dirname);

function findUp(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : findUp(path.dirname(folder));
}
