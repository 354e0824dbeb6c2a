// `npm run licences`: lists the licence of each package of the image, from package-lock.json. Fails if a licence, of a
// development package too, is not allowed. docs/contributors/releases.md states what to do then.
import { readFileSync } from 'node:fs';

/** SPDX ids: permissive licences, whose only duty is to keep the notice. node_modules in the image has the notices. */
const ALLOWED = new Set([
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC-BY-4.0', 'CC0-1.0', 'ISC', 'MIT'],
  ...['MIT-0', 'Python-2.0', 'Unlicense'],
]);
/** Used in development only, and not distributed. */
const ALLOWED_IN_DEVELOPMENT = new Set([...ALLOWED, 'CC-BY-3.0', 'MPL-2.0']);
/** Packages whose package.json names no licence, with the one of their LICENSE file. */
const KNOWN = { unionfs: 'Unlicense' };

const { packages } = JSON.parse(readFileSync(process.argv[2] ?? 'package-lock.json', 'utf8'));
/** Our own package: a link to its folder. */
const isWorkspace = (path) => packages[path].link === true;
const found = Object.entries(packages)
  .filter(([path]) => path.startsWith('node_modules/') && !isWorkspace(path))
  .map(([path, { name = path.split('node_modules/').at(-1), version, license = KNOWN[name] ?? 'unknown', dev }]) => ({
    ...{ name, version, license, dev: dev === true },
  }));

/** True if the expression allows a choice, or needs licences, that are all in the list: `(MIT OR GPL-3.0)`. */
const isAllowed = (expression, list) =>
  expression
    .replace(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((id) => list.has(id)));

const refused = found.filter(({ license, dev }) => !isAllowed(license, dev ? ALLOWED_IN_DEVELOPMENT : ALLOWED));
const shipped = found.filter(({ dev }) => !dev).sort((a, b) => (a.name < b.name ? -1 : 1));
for (const { name, version, license } of shipped) console.log(`${name}@${version}\t${license}`);
for (const { name, version, license } of refused) console.error(`not allowed: ${name}@${version}: ${license}`);
console.error(`${shipped.length} packages in the image, ${found.length - shipped.length} in development only`);
// process.exit() may cut off what is written to a pipe.
if (refused.length > 0) process.exitCode = 1;
