import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../tools/package-root';

const LOCK = path.join(PACKAGE_ROOT, 'package-lock.json');
const lock = JSON.parse(readFileSync(LOCK, 'utf8')) as { packages: Record<string, object> };
let folder: string;
beforeAll(() => (folder = mkdtempSync(path.join(tmpdir(), 'order-service-licences-'))));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs `npm run licences` on the lock file, or on one with this package too. */
function checkLicences(added: object = {}) {
  const file = path.join(folder, 'package-lock.json');
  writeFileSync(file, JSON.stringify({ packages: { ...lock.packages, 'node_modules/added': added } }));
  return spawnSync('node', ['tools/licences.mjs', file], { cwd: PACKAGE_ROOT, encoding: 'utf8' });
}

test('every package has a licence that is allowed', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'licences'], {
    cwd: PACKAGE_ROOT,
    encoding: 'utf8',
  });
  expect([status, stderr.match(/not allowed.*/g)]).toEqual([0, null]);
  expect(stdout).toMatch(/^koa@[\d.]+\tMIT$/m);
});

test.each([
  ['no licence', {}, 1],
  ['an unknown licence', { license: 'SEE LICENSE IN EULA' }, 1],
  ['copyleft', { license: 'GPL-3.0' }, 1],
  ['copyleft beside another', { license: 'MIT AND AGPL-3.0-only' }, 1],
  ['a choice with an allowed one', { license: '(MIT OR GPL-3.0)' }, 0],
  ['MPL-2.0 in production', { license: 'MPL-2.0' }, 1],
  ['MPL-2.0 in development', { license: 'MPL-2.0', dev: true }, 0],
])('a package with %s is refused or allowed', (_title, added, code) => {
  const { status, stderr } = checkLicences({ version: '1.0.0', ...added });
  expect([status, stderr.includes('added@1.0.0')]).toEqual([code, code === 1]);
});

test('the SBOM is CycloneDX and has every package of the image and no other', () => {
  const sbom = JSON.parse(
    execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: PACKAGE_ROOT, encoding: 'utf8' }),
  ) as {
    bomFormat: string;
    components: { name: string; version: string }[];
  };
  expect(sbom.bomFormat).toBe('CycloneDX');
  const listed = new Set(sbom.components.map(({ name, version }) => `${name}@${version}`));
  const { stdout } = checkLicences({ version: '1.0.0', license: 'MIT', dev: true });
  const shipped = new Set(stdout.match(/^\S+(?=\t)/gm));
  const required = [...listed].filter((one) => !shipped.has(one));
  expect(required).toEqual([]);
  expect(listed.size).toBeGreaterThan(200);
});
