import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Version of this package. Both `src/` and the compiled `dist/src/` are below package.json, at different depths. */
export const VERSION: string = readVersion(__dirname);

function readVersion(folder: string): string {
  const file = path.join(folder, 'package.json');
  if (!existsSync(file)) return readVersion(path.dirname(folder));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
