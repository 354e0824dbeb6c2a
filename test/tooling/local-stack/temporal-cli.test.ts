import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalCli, fromTemporal } from '../../../tools/local-stack/temporal-cli';

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
  writeFileSync(file, PROGRAM);
  return Promise.resolve(file);
};
const PROGRAM = '#!/bin/sh\n';
const SHA256 = createHash('sha256').update(PROGRAM).digest('hex');
const find = (
  downloads: Parameters<typeof findTemporalCli>[2] = { first: offline, second: offline },
  sha256 = SHA256,
) => findTemporalCli((line) => lines.push(line), env, downloads, sha256);

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

test('a program in the cache that was changed is not run, but downloaded again', async () => {
  const cli = await find({ first: online });
  writeFileSync(cli, '#!/bin/sh\necho changed\n');
  lines = [];
  expect(await find({ first: online })).toBe(cli);
  expect(lines[0]).toMatch(/; its SHA-256 is [0-9a-f]{64} instead of [0-9a-f]{64}, downloading again: /);
  expect(readFileSync(cli, 'utf8')).toBe(PROGRAM);
});

test('a download that is not the pinned program is skipped, whatever its source is', async () => {
  const other = (folder: string) => {
    writeFileSync(join(folder, 'other'), 'other');
    return Promise.resolve(join(folder, 'other'));
  };
  await find({ first: other, second: online });
  expect(lines[1]).toMatch(/^Temporal: no CLI from first: its SHA-256 is [0-9a-f]{64} instead of [0-9a-f]{64}$/);
  await expect(
    findTemporalCli(() => undefined, { ...env, XDG_CACHE_HOME: join(home, 'c2') }, { other }),
  ).rejects.toThrow(/^no Temporal CLI/);
});

test("the program is taken from Temporal's archive, and an error of the server is one line", async () => {
  writeFileSync(join(home, 'temporal'), PROGRAM);
  const archive = execFileSync('tar', ['-czf', '-', '-C', home, 'temporal']);
  const paths: string[] = [];
  const server = createServer(({ url }, response) => {
    paths.push(url!);
    response.writeHead(paths.length === 1 ? 200 : 503).end(archive);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const download = (folder: string) =>
    fromTemporal(folder, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const cli = await find({ first: download });
  expect(readFileSync(cli, 'utf8')).toBe(PROGRAM);
  expect(paths[0]).toMatch(/^\/cli\/archive\/v\d+\.\d+\.\d+\?platform=\w+&arch=(amd64|arm64)$/);
  rmSync(cli);
  await find({ first: download, second: online });
  server.close();
  expect(lines.at(-2)).toMatch(/^Temporal: no CLI from first: http:\S+ answered 503$/);
});

test('only this user can enter the cache', async () => {
  mkdirSync(join(home, 'cache/order-service'), { recursive: true, mode: 0o777 });
  await find({ first: online });
  expect(statSync(join(home, 'cache/order-service')).mode & 0o777).toBe(0o700);
});

// CI runs as root, and fails here if it does not.
const asRoot = process.getuid?.() === 0 || process.env.CI ? test : test.skip;

asRoot('a cache that belongs to another user is refused', async () => {
  await find({ first: online });
  chownSync(join(home, 'cache/order-service'), 65534, 65534);
  await expect(find()).rejects.toThrow(/belongs to another user \(65534\)/);
});
