import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildTool } from '../../../tools/local-stack/build-temporal';
import { identify } from '../../../tools/local-stack/process-table';
import type { Tool } from '../../../tools/local-stack/temporal-tools';

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

/** A `go` that notes how it was called and, for a build, runs the given line with its output file as $out. */
function go(onBuild: string): void {
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
const written = 'echo "#!/bin/sh" > "$out"; chmod +x "$out"';

test('a build is made without cgo, with the flags of the user and of the tool, and leaves the program alone', async () => {
  go(written);
  await build();
  expect(calls()).toEqual([
    '0 -mod=mod list -deps -tags x example/server',
    `0 -mod=mod build -v -trimpath -ldflags -s -w -tags x -o ${target}.${process.pid}.tmp example/server`,
  ]);
  expect(readdirSync(cache)).toEqual(['temporal-server']);
});

test('of two that start at once one builds and the other waits, with a word', async () => {
  go(`sleep 0.5; ${written}`);
  await Promise.all([build(), build()]);
  expect(calls().filter((call) => call.includes(' build '))).toHaveLength(1);
  expect(lines).toContain('another process is building temporal-server 1.0.0: waiting for it');
});

test('a build that fails says the last line of Go and leaves nothing', async () => {
  go('echo "half" > "$out"; echo "one" >&2; echo "go.mod requires go >= 9" >&2; exit 1');
  await expect(build()).rejects.toThrow('go build ended with code 1: go.mod requires go >= 9');
  expect(readdirSync(cache)).toEqual([]);
});

test('a build that was killed is made again: its lock and its half a file are cleared away', async () => {
  const dead = spawnSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }).stdout.trim();
  mkdirSync(cache);
  writeFileSync(`${target}.lock`, JSON.stringify({ pid: Number(dead), started: '1' }));
  writeFileSync(`${target}.${dead}.tmp`, 'half');
  go(written);
  await build();
  expect(readdirSync(cache)).toEqual(['temporal-server']);
  expect(lines).not.toContain('another process is building temporal-server 1.0.0: waiting for it');
});

test('the lock of a living process is respected until it lets go', async () => {
  mkdirSync(cache);
  writeFileSync(`${target}.lock`, JSON.stringify(identify(process.pid)));
  go(written);
  const built = build();
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(existsSync(join(home, 'calls'))).toBe(false);
  rmSync(`${target}.lock`);
  await built;
  expect(existsSync(target)).toBe(true);
});
