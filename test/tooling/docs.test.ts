import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';

const read = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, file), 'utf8');
const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!);

const docs = readdirSync(path.join(PACKAGE_ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docs];
const { version } = JSON.parse(read('package.json')) as { version: string };

/** A heading's anchor on GitHub. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
const anchorsOf = (page: string): string[] =>
  matches(read(page).replace(/^```[^]*?^```$/gm, ''), /^#+ (.+)$/gm).map(anchor);

describe.each(pages)('%s', (page) => {
  const text = read(page);

  test('every link leads to a file and a heading of this repository', () => {
    const broken = matches(text, /\]\((?!https?:)([^)\s]+)\)/g).filter((link) => {
      const [file = '', heading] = link.split('#');
      const target = file === '' ? page : path.posix.join(path.dirname(page), file);
      if (!existsSync(path.join(PACKAGE_ROOT, target))) return true;
      return heading !== undefined && !anchorsOf(target).includes(heading);
    });
    expect(broken).toEqual([]);
  });

  test('every path and npm script that it names exists', () => {
    const paths = matches(text, /`((?:src|workflows|activities|test|examples|deploy|docs|tools)\/[\w./-]*)`/g);
    expect(paths.filter((file) => !existsSync(path.join(PACKAGE_ROOT, file)))).toEqual([]);
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(matches(text, /npm run ([a-z][\w:-]*)/g).filter((script) => !(script in scripts))).toEqual([]);
  });
});

test('every test that a page names exists', () => {
  const named = docs.flatMap((page) => matches(read(page), /`([\w./-]+\.test\.ts)`/g));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(path.join(PACKAGE_ROOT, file)))).toEqual([]);
});

test('docs/operators/kubernetes.md deletes the Job of the migrations before each apply, which could not change it', () => {
  const blocks = matches(read('docs/operators/kubernetes.md'), /^```sh\n(.*?)^```$/gms).filter((it) =>
    it.includes('apply -k'),
  );
  expect(blocks.length).toBeGreaterThanOrEqual(2);
  expect(blocks.filter((it) => !/delete job migrate --ignore-not-found\nkubectl apply -k/.test(it))).toEqual([]);
});

test('README.md has at most 100 lines, and docs/README.md links to every page', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(100);
  const index = read('docs/README.md');
  const linked = docs.filter(
    (page) => !page.includes('/decisions/') && !index.includes(`](${page.slice('docs/'.length)})`),
  );
  expect(linked).toEqual(['docs/README.md']);
});

test('the pages have at most 3,000 lines and 30,000 words, and a decision at most 40 lines', () => {
  const lines = (page: string): number => read(page).trimEnd().split('\n').length;
  const words = (page: string): number =>
    read(page)
      .split(/\s+/)
      .filter((one) => /[\p{L}\p{N}]/u.test(one)).length;
  const sum = (count: (page: string) => number): number => docs.reduce((total, page) => total + count(page), 0);
  expect(sum(lines)).toBeLessThanOrEqual(3000);
  expect(sum(words)).toBeLessThanOrEqual(30_000);
  expect(docs.filter((page) => page.includes('/decisions/') && lines(page) > 40)).toEqual([]);
});

test('the glossary has at most 35 words', () => {
  const [, glossary = ''] = read('docs/contributors/architecture.md').split('## Glossary\n');
  expect(matches(glossary, /^\| (?!term )(\w.*?) \|/gm).length).toBeGreaterThan(10);
  expect(matches(glossary, /^\| (?!term )(\w.*?) \|/gm).length).toBeLessThanOrEqual(35);
});

test('README.md gives the test command that CI runs', () => {
  expect(read('README.md')).toContain('\nnpm test\n');
  expect(read('.ci/run')).toMatch(/^step npm ci$[^]*^step timeout \S+ \S+ npm test -- --json --outputFile/m);
});

test('the version of package.json is that of the changelog, the lockfile, the client and the deployment', () => {
  expect(matches(read('CHANGELOG.md'), /^## \[(\d+\.\d+\.\d+)\]/gm)[0]).toBe(version);
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  const client = JSON.parse(read('packages/client/package.json')) as { version: string };
  expect([lock.version, lock.packages['']!.version, client.version]).toEqual([version, version, version]);
  const deployment = read('docs/operators/kubernetes.md') + read('deploy/kubernetes/kustomization.yaml');
  expect(new Set(matches(deployment, /(?:order-service:|newTag: )(\d+\.\d+\.\d+)/g))).toEqual(new Set([version]));
});
