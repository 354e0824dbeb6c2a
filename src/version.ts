import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The version in package.json, which is above both the sources and the compiled files in `dist/`. */
export const VERSION = readVersion(__dirname);

function readVersion(folder: string): string {
  const file = path.join(folder, 'package.json');
  if (!existsSync(file)) return readVersion(path.dirname(folder));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
