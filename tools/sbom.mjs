// `npm run sbom -- <file>`: writes a CycloneDX SBOM of the packages of the image. Fails if it lacks one of them, as
// that of `npm sbom` does: npm leaves out packages that development packages need too.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const file = process.argv[2] ?? 'sbom.json';
const options = ['--omit', 'dev', '--no-workspaces', '--package-lock-only', '--output-reproducible'];
execFileSync('node_modules/.bin/cyclonedx-npm', [...options, '--mc-type', 'application', '--output-file', file], {
  stdio: ['ignore', 'inherit', 'inherit'],
});

const { components } = JSON.parse(readFileSync(file, 'utf8'));
const flatten = (list = []) => list.flatMap((one) => [one, ...flatten(one.components)]);
const listed = new Set(
  flatten(components).map(({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`),
);
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const missing = Object.entries(packages)
  .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
  .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
  .filter((one) => !listed.has(one));
for (const one of missing) console.error(`missing: ${one}`);
console.error(`${file}: ${listed.size} packages`);
if (missing.length > 0) process.exitCode = 1;
