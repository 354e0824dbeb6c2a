import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Its modification time is when the last complete build started. */
export const STAMP = 'dist/.built';

/** The second file changes when packages are installed. */
const FILES = ['package.json', 'node_modules/.package-lock.json'];
/** What the compiled code of `npm start` depends on. */
const SOURCES = ['src', 'workflows', 'activities', 'packages/client/src', 'tools', 'docs', 'examples'];

/** True if nothing has changed since the last complete build. */
export function isBuilt() {
  return timeOf(STAMP) > lastChange();
}

/** When the sources changed. A folder changes if a file in it is added or removed. */
export function lastChange(sources = SOURCES) {
  const inputs = [...FILES, ...sources.flatMap((folder) => [folder, ...entriesOf(folder)])];
  return Math.max(...inputs.map(timeOf));
}

function entriesOf(folder) {
  return readdirSync(folder, { recursive: true }).map((entry) => path.join(folder, entry));
}

export function timeOf(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
