import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lock } from 'proper-lockfile';
import { buildTool } from '../../../tools/local-stack/build-temporal';
import type { Tool } from '../../../tools/local-stack/temporal-tools';
import { until } from '../../support/until';

const WAITING = 'another process is building temporal-server 1.0.0: waiting for it';

let home: string;
let cache: string;
let target: string;
let env: NodeJS.ProcessEnv;
let lines: string[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'orders-build-'));
  cache = join(home, 'cache');
  target = join(cache, 'temporal-server');
  env = { PATH: `${home}:${process.env['PATH'] ?? ''}`, CALLS: join(home, 'calls'), GOFLAGS: '-mod=mod' };
  lines = [];
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const tool = (): Tool => ({
  binary: 'temporal-server',
  dir: home,
  package: 'example/server',
  version: '1.0.0',
  flags: ['-tags', 'x'],
});
const build = () => buildTool(tool(), target, (line) => lines.push(line), env);
const calls = () => readFileSync(join(home, 'calls'), 'utf8').trim().split('\n');

/** Installs a `go` that records its calls and, for a build, runs the given line with the output file as $out. */
function fakeGo(onBuild: string): void {
  const script = `#!/bin/sh
echo "$CGO_ENABLED $GOFLAGS $*" >> "$CALLS"
[ "$1" = list ] && exit 0
while [ "$1" != -o ]; do shift; done
out=$2
${onBuild}
`;
  writeFileSync(join(home, 'go'), script);
  chmodSync(join(home, 'go'), 0o755);
}
const writeProgram = 'echo "#!/bin/sh" > "$out"; chmod +x "$out"';

test('a build runs without cgo, with the flags of the user and of the tool, and leaves only the program', async () => {
  fakeGo(writeProgram);
  await build();
  expect(calls()).toEqual([
    '0 -mod=mod list -deps -tags x example/server',
    `0 -mod=mod build -v -trimpath -ldflags -s -w -tags x -o ${target}.${process.pid}.tmp example/server`,
  ]);
  expect(readdirSync(cache)).toEqual(['temporal-server']);
});

test('the second of two simultaneous builds logs that it waits and uses the result of the first', async () => {
  fakeGo(`sleep 0.5; ${writeProgram}`);
  await Promise.all([build(), build()]);
  expect(calls().filter((call) => call.includes(' build '))).toHaveLength(1);
  expect(lines).toContain(WAITING);
});

test("a failed build throws Go's last line and leaves no file", async () => {
  fakeGo('echo "half" > "$out"; echo "one" >&2; echo "go.mod requires go >= 9" >&2; exit 1');
  await expect(build()).rejects.toThrow('go build ended with code 1: go.mod requires go >= 9');
  expect(readdirSync(cache)).toEqual([]);
});

/** Runs a process that takes the lock and then ends by the signal. */
function lockAndEndBy(signal: NodeJS.Signals): number {
  mkdirSync(cache);
  const script = `setInterval(() => {}, 1000);
    require('proper-lockfile').lock(process.argv[1], { realpath: false })
      .then(() => process.kill(process.pid, process.argv[2]))`;
  const ended = spawnSync(process.execPath, ['-e', script, target, signal]);
  expect(ended.signal).toBe(signal);
  return ended.pid;
}

test('Ctrl-C during a build releases the lock', () => {
  lockAndEndBy('SIGINT');
  expect(readdirSync(cache)).toEqual([]);
});

test('a build replaces the stale lock and the unfinished file of a killed build', async () => {
  const pid = lockAndEndBy('SIGKILL');
  expect(readdirSync(cache)).toEqual(['temporal-server.lock']);
  const aMinuteAgo = new Date(Date.now() - 60_000);
  utimesSync(`${target}.lock`, aMinuteAgo, aMinuteAgo);
  writeFileSync(`${target}.${pid}.tmp`, 'half');
  fakeGo(writeProgram);
  await build();
  expect(readdirSync(cache)).toEqual(['temporal-server']);
  expect(lines).not.toContain(WAITING);
});

test('a build waits until the living holder of the lock releases it', async () => {
  mkdirSync(cache);
  const release = await lock(target, { realpath: false });
  fakeGo(writeProgram);
  const built = build();
  await until(() => lines.includes(WAITING), 'the build waits');
  // Time for two more tries.
  await delay(500);
  expect(existsSync(join(home, 'calls'))).toBe(false);
  await release();
  await built;
  expect(existsSync(target)).toBe(true);
});
