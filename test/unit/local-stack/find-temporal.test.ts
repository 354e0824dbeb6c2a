import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { downloadCli } from '../../../tools/local-stack/download-cli';
import { findTemporal, type FindOptions } from '../../../tools/local-stack/find-temporal';
import { cachePath, temporalTools } from '../../../tools/local-stack/temporal-tools';
import { PACKAGE_ROOT } from '../../../src/package';

let home: string;
let env: NodeJS.ProcessEnv;
let lines: string[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'orders-find-'));
  mkdirSync(join(home, 'bin'));
  env = { PATH: join(home, 'bin'), XDG_CACHE_HOME: join(home, 'cache') };
  lines = [];
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const offline = () => Promise.reject(new Error('dns error'));
const find = (options: Partial<FindOptions> = {}) =>
  findTemporal({ log: (line) => lines.push(line), env, download: offline, ...options });

function program(path: string, script = 'exit 0'): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const cli = (version = 'temporal version 1.5.0 (Server 1.30.1, UI 2.42.1)') =>
  program(join(home, 'bin', 'temporal'), `echo '${version}'`);
const inCache = (tool: 'server' | 'ui') => {
  const { binary, version } = temporalTools()[tool];
  return cachePath(binary, version, env);
};

test('the versions come from the go.mod files in tools/temporal', () => {
  const mod = (tool: string) => readFileSync(join(PACKAGE_ROOT, 'tools/temporal', tool, 'go.mod'), 'utf8');
  const { server, ui } = temporalTools();
  expect(mod('server')).toContain(`go.temporal.io/server v${server.version}`);
  expect(mod('ui')).toContain(`github.com/temporalio/ui-server/v2 v${ui.version}`);
});

test('a CLI on PATH has precedence over the cache', async () => {
  program(inCache('server'));
  const path = cli();
  expect(await find()).toEqual({ cli: path });
  expect(lines).toEqual([]);
});

test.each([
  ['temporal version 1.5.0 (Server 1.29.1, UI 2.42.1)', 'has server 1.29; 1.30 or later is required'],
  ["'; exit 1; echo '", 'does not run'],
])('a log line names the reason why a CLI cannot be used: %s', async (version, reason) => {
  const path = cli(version);
  const server = program(inCache('server'));
  expect(await find({ ui: false })).toEqual({ server, ui: undefined });
  expect(lines).toEqual([expect.stringContaining(`${path} ${reason}`)]);
});

test('a cached server has precedence over a download', async () => {
  const [server, ui] = [program(inCache('server')), program(inCache('ui'))];
  const download = jest.fn(offline);
  expect(await find({ download })).toEqual({ server, ui });
  expect(download).not.toHaveBeenCalled();
  expect(lines).toEqual([`Temporal: no temporal CLI on PATH; using ${server}`]);
});

test("the SDK's download has precedence over a build and is cached", async () => {
  const build = jest.fn();
  const download = jest.fn((target: string) => Promise.resolve(void program(target)));
  const found = await find({ download, build });
  expect(await find({ download, build })).toEqual(found);
  expect(found).toEqual({ cli: expect.stringContaining(join(home, 'cache', 'order-service', 'temporal')) });
  expect(download).toHaveBeenCalledTimes(1);
  expect(build).not.toHaveBeenCalled();
});

test('the server and the UI are built after a log line for each failed step', async () => {
  const build = jest.fn((_tool: unknown, target: string) => Promise.resolve(void program(target)));
  expect(await find({ build })).toEqual({ server: inCache('server'), ui: inCache('ui') });
  expect(build.mock.calls.map(([, target]) => target)).toEqual([inCache('server'), inCache('ui')]);
  expect(lines).toEqual([
    `Temporal: no temporal CLI on PATH; no server at ${inCache('server')}`,
    'Temporal: the SDK could not download the CLI: dns error',
  ]);
});

test('the server is used without a UI if the UI cannot be built', async () => {
  const server = program(inCache('server'));
  expect(await find()).toEqual({ server, ui: undefined });
  expect(lines.at(-1)).toBe('Temporal: no Web UI: no Go toolchain on PATH');
});

test('the error names what to install if no server can be found or built', async () => {
  await expect(find()).rejects.toThrow(/install the Temporal CLI .* or Go 1\.26 or later .*, or set TEMPORAL_ADDRESS/);
  expect(lines.at(-1)).toBe('Temporal: the server could not be built: no Go toolchain on PATH');
});

describe('the download', () => {
  // Replaces the SDK's module by one with the given createLocal.
  const sdk = (createLocal: string) => {
    const path = join(home, 'sdk.js');
    const options = '{ server: { executable: { downloadDir } } }';
    writeFileSync(path, `exports.TestWorkflowEnvironment = { async createLocal(${options}) { ${createLocal} } };`);
    return path;
  };
  const target = () => join(home, 'cache', 'temporal');

  test('keeps only the program', async () => {
    const write = "require('fs').writeFileSync(downloadDir + '/temporal-cli-sdk', 'binary');";
    await downloadCli(target(), { sdk: sdk(`${write} return { async teardown() {} };`) });
    expect(readFileSync(target(), 'utf8')).toBe('binary');
  });

  test('fails without leaving a file if it receives no data', async () => {
    const wait = downloadCli(target(), {
      sdk: sdk('setInterval(() => {}, 1000); await new Promise(() => {});'),
      stallLimit: 400,
    });
    await expect(wait).rejects.toThrow('received no data for 0.4 s');
    expect(existsSync(target())).toBe(false);
  });

  test('throws only the cause of a failure', async () => {
    const message =
      'Failed to start: error sending request for url (https://example.test/x): client error (Connect): dns error';
    await expect(downloadCli(target(), { sdk: sdk(`throw new Error(${JSON.stringify(message)})`) })).rejects.toThrow(
      /^dns error$/,
    );
  });
});
