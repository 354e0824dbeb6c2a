import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';

const read = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, file), 'utf8');
const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!);

const docs = readdirSync(path.join(PACKAGE_ROOT, 'docs')).filter((name) => name.endsWith('.md'));
const pages = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...docs.map((name) => `docs/${name}`)];

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

/** The code that pages show as that of a file: a link to the file and a colon, then the code. */
const shown = pages.flatMap((page) =>
  [...read(page).matchAll(/\]\(\.\.\/(examples\/[^)]+)\):\n\n```\w+\n(.*?)^```$/gms)].map(
    ([, file, code]) => [page, file!, code!] as const,
  ),
);

test.each(shown)('%s shows the file %s unchanged', (_page, file, code) => {
  expect(code).toBe(read(file));
});

test('pages show every file of the examples in PHP, Python and Express', () => {
  const files = ['php', 'python', 'express'].flatMap((folder) =>
    readdirSync(path.join(PACKAGE_ROOT, 'examples', folder)).map((name) => `examples/${folder}/${name}`),
  );
  expect(shown.map(([, file]) => file).sort()).toEqual(files.filter((file) => !file.endsWith('__')).sort());
});

test('docs/security.md names its tests by their full path, and every one exists', () => {
  const named = matches(read('docs/security.md'), /`([\w./-]+\.test\.ts)`/g);
  expect(named.length).toBeGreaterThan(90);
  expect(named.filter((file) => !existsSync(path.join(PACKAGE_ROOT, file)))).toEqual([]);
});

test('docs/kubernetes.md deletes the Job of the migrations before each apply, which could not change it', () => {
  const blocks = matches(read('docs/kubernetes.md'), /^```sh\n(.*?)^```$/gms).filter((it) => it.includes('apply -k'));
  expect(blocks.length).toBeGreaterThanOrEqual(3);
  expect(blocks.filter((it) => !/delete job migrate --ignore-not-found\nkubectl apply -k/.test(it))).toEqual([]);
});

test('docs/generated-clients.md reads the type of a webhook before it parses one as OrderStatusChanged', () => {
  const parsing = matches(read('docs/generated-clients.md'), /^(- For a webhook.*?)(?=^- |^$)/gms);
  expect(parsing).toHaveLength(3);
  for (const text of parsing) expect(text).toMatch(/if .*order\.status_changed.*OrderStatusChanged/s);
});

test('README.md has at most 150 lines and links to every page of docs/', () => {
  const readme = read('README.md');
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  expect(docs.filter((name) => !readme.includes(`](docs/${name})`))).toEqual([]);
});

test('the glossary has at most 35 words', () => {
  const [, glossary = ''] = read('docs/architecture.md').split('## Glossary\n');
  expect(matches(glossary, /^\| (?!term )(\w.*?) \|/gm).length).toBeGreaterThan(20);
  expect(matches(glossary, /^\| (?!term )(\w.*?) \|/gm).length).toBeLessThanOrEqual(35);
});

test('README.md gives the test command that CI runs', () => {
  expect(read('README.md')).toContain('npm ci && npm test\n');
  expect(read('.ci/run')).toMatch(/^step npm ci$[^]*^step timeout \S+ \S+ npm test -- --json --outputFile/m);
});

test('CHANGELOG.md has an entry for the version in package.json', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(matches(read('CHANGELOG.md'), /^## \[(\d+\.\d+\.\d+)\]/gm)[0]).toBe(version);
});
