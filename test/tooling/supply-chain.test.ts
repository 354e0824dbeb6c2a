import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { useFolder } from '../support/folder';

const LOCK = path.join(PACKAGE_ROOT, 'package-lock.json');
const lock = JSON.parse(readFileSync(LOCK, 'utf8')) as { packages: Record<string, object> };
const folder = useFolder();

/** Runs `npm run licences` on the lock file, or on one with this package too. */
function checkLicences(added: object = {}) {
  const file = path.join(folder, 'package-lock.json');
  writeFileSync(file, JSON.stringify({ packages: { ...lock.packages, 'node_modules/added': added } }));
  return spawnSync('node', ['tools/licences.mjs', file], { cwd: PACKAGE_ROOT, encoding: 'utf8' });
}

test.each([
  ['no licence', 1, {}],
  ['an unknown licence', 1, { license: 'SEE LICENSE IN EULA' }],
  ['a copyleft licence', 1, { license: 'GPL-3.0' }],
  ['a copyleft licence beside an allowed one', 1, { license: 'MIT AND AGPL-3.0-only' }],
  ['a choice that includes an allowed licence', 0, { license: '(MIT OR GPL-3.0)' }],
  ['MPL-2.0 in production', 1, { license: 'MPL-2.0' }],
  ['MPL-2.0 in development', 0, { license: 'MPL-2.0', dev: true }],
])('a package with %s ends the licence check with code %j', (_title, code, added) => {
  const { status, stderr } = checkLicences({ version: '1.0.0', ...added });
  expect([status, stderr.includes('added@1.0.0')]).toEqual([code, code === 1]);
});
