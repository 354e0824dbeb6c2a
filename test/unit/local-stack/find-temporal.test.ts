import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { downloadCli } from '../../../tools/local-stack/download-cli';
import { findTemporal, type FindOptions } from '../../../tools/local-stack/find-temporal';
import { cached, temporalTools } from '../../../tools/local-stack/temporal-tools';

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

const cli = (says = 'temporal version 1.5.0 (Server 1.29.1, UI 2.42.1)') =>
  program(join(home, 'bin', 'temporal'), `echo '${says}'`);
const inCache = (tool: 'server' | 'ui') => {
  const { binary, version } = temporalTools()[tool];
  return cached(binary, version, env);
};

test('versions come from the go.mod files of the tools', () => {
  const mod = (tool: string) => readFileSync(join(__dirname, '../../tools/temporal', tool, 'go.mod'), 'utf8');
  const { server, ui } = temporalTools();
  expect(mod('server')).toContain(`go.temporal.io/server v${server.version}`);
  expect(mod('ui')).toContain(`github.com/temporalio/ui-server/v2 v${ui.version}`);
});

test('a CLI on PATH is taken before anything else', async () => {
  program(inCache('server'));
  const path = cli();
  expect(await find()).toEqual({ cli: path });
  expect(lines).toEqual([]);
});

test.each([
  ['temporal version 1.1.0 (Server 1.25.0, UI 2.31.0)', 'brings server 1.25, and 1.28 is needed'],
  ["'; exit 1; echo '", 'does not run'],
])('a CLI of no use is passed over with a word: %s', async (says, word) => {
  const path = cli(says);
  const server = program(inCache('server'));
  expect(await find({ ui: false })).toEqual({ server, ui: undefined });
  expect(lines).toEqual([expect.stringContaining(`${path} ${word}`)]);
});

test('a server in the cache is taken before a download', async () => {
  const [server, ui] = [program(inCache('server')), program(inCache('ui'))];
  const download = jest.fn(offline);
  expect(await find({ download })).toEqual({ server, ui });
  expect(download).not.toHaveBeenCalled();
  expect(lines).toEqual(['Temporal: no temporal CLI on PATH']);
});

test('the download of the SDK is taken before a build, and the next time from the cache', async () => {
  const build = jest.fn();
  const download = jest.fn((target: string) => Promise.resolve(void program(target)));
  const found = await find({ download, build });
  expect(await find({ download, build })).toEqual(found);
  expect(found).toEqual({ cli: expect.stringContaining(join(home, 'cache', 'order-service', 'temporal')) });
  expect(download).toHaveBeenCalledTimes(1);
  expect(build).not.toHaveBeenCalled();
});

test('what cannot be found is built, with a line for each step that failed', async () => {
  const build = jest.fn((_tool: unknown, target: string) => Promise.resolve(void program(target)));
  expect(await find({ build })).toEqual({ server: inCache('server'), ui: inCache('ui') });
  expect(build.mock.calls.map(([, target]) => target)).toEqual([inCache('server'), inCache('ui')]);
  expect(lines).toEqual([
    'Temporal: no temporal CLI on PATH',
    `Temporal: no server at ${inCache('server')}`,
    'Temporal: the SDK could not download the CLI: dns error',
  ]);
});

test('without a UI the server is used alone', async () => {
  const server = program(inCache('server'));
  expect(await find()).toEqual({ server, ui: undefined });
  expect(lines.at(-1)).toBe('Temporal: no Web UI: no Go toolchain on PATH');
});

test('with no server to be had the error says what to install', async () => {
  await expect(find()).rejects.toThrow(/install the Temporal CLI .* or Go 1\.26 or later .*, or set TEMPORAL_ADDRESS/);
  expect(lines.at(-1)).toBe('Temporal: no build of the server: no Go toolchain on PATH');
});

describe('the download', () => {
  // In the SDK's place: its module, with a createLocal that does as told.
  const sdk = (createLocal: string) => {
    const path = join(home, 'sdk.js');
    const options = '{ server: { executable: { downloadDir } } }';
    writeFileSync(path, `exports.TestWorkflowEnvironment = { async createLocal(${options}) { ${createLocal} } };`);
    return path;
  };
  const target = () => join(home, 'cache', 'temporal');

  test('keeps what the SDK leaves, and nothing beside it', async () => {
    const write = "require('fs').writeFileSync(downloadDir + '/temporal-cli-sdk', 'binary');";
    await downloadCli(target(), { sdk: sdk(`${write} return { async teardown() {} };`) });
    expect(readFileSync(target(), 'utf8')).toBe('binary');
  });

  test('is given up once nothing comes any more, and leaves nothing', async () => {
    const wait = downloadCli(target(), {
      sdk: sdk('setInterval(() => {}, 1000); await new Promise(() => {});'),
      stalledAfter: 400,
    });
    await expect(wait).rejects.toThrow('nothing came for 0.4 s');
    expect(existsSync(target())).toBe(false);
  });

  test('says in a few words why it failed', async () => {
    const message =
      'Failed to start: error sending request for url (https://example.test/x): client error (Connect): dns error';
    await expect(downloadCli(target(), { sdk: sdk(`throw new Error(${JSON.stringify(message)})`) })).rejects.toThrow(
      /^dns error$/,
    );
  });
});
