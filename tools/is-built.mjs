import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Its modification time is when the last complete build started. */
export const STAMP = 'dist/.built';

/** What the compiled code of `npm start` depends on. */
const SOURCES = ['src', 'workflows', 'activities', 'tools'];
/** The third one changes when packages are installed. */
const FILES = ['package.json', 'tsconfig.json', 'node_modules/.package-lock.json'];

/**
 * True if nothing has changed since the last complete build. A folder is newer if a file in it was added or removed.
 */
export function isBuilt() {
  const builtAt = timeOf(STAMP);
  const inputs = [...FILES, ...SOURCES.flatMap((folder) => [folder, ...entriesOf(folder)])];
  return builtAt > 0 && inputs.every((input) => timeOf(input) < builtAt);
}

function entriesOf(folder) {
  return readdirSync(folder, { recursive: true }).map((entry) => path.join(folder, entry));
}

function timeOf(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
