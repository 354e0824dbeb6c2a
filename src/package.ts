import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The folder of package.json. Both `src/` and the compiled `dist/src/` are below it, at different depths. */
export const PACKAGE_ROOT = findUp(__dirname);

/** Version of this package. */
export const VERSION: string = (
  JSON.parse(readFileSync(path.join(PACKAGE_ROOT, 'package.json'), 'utf8')) as { version: string }
).version;

function findUp(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : findUp(path.dirname(folder));
}
