import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { findRunning, claimData } from '../../tools/local-stack/running';
import { PACKAGE_ROOT } from '../../src/package';
import { useFolder } from '../support/folder';

const folder = useFolder();

function start(env: Record<string, string>) {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  const file = path.join(PACKAGE_ROOT, 'dist/tools/local-stack/start.js');
  const options = {
    env: { PATH, HOME, XDG_CACHE_HOME, DATA_DIR: path.join(folder, 'data'), ...env },
    encoding: 'utf8',
  } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], options);
  return {
    status,
    lines: (stdout + stderr)
      .trim()
      .split('\n')
      // Another program, or another test, may use port 3000.
      .filter((line) => line !== '' && !/^(Stopping|Postgres:|Port 3000 is in use)/.test(line)),
  };
}

test.each([
  [{ PORT: 'abc' }, /^Invalid configuration: PORT must be/],
  [{ UPDATE_TIMEOUT_MS: 'x' }, /^Invalid configuration: UPDATE_TIMEOUT_MS must be/],
  [{ DATA_DIR: '/dev/null/orders' }, /^DATA_DIR: cannot write to \/dev\/null\/orders \(E\w+\)\. Choose a folder/],
])('npm start refuses %j in one line', (env: Record<string, string>, line) => {
  expect(start(env)).toEqual({ status: 1, lines: [expect.stringMatching(line)] });
});

test('npm start refuses a port that is in use in one line', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  expect(start({ PORT: String(port) })).toEqual({
    status: 1,
    lines: [`PORT: ${port} is in use by another program. Choose another port.`],
  });
  server.close();
});

test('npm start reports damaged Postgres data in one line, with the command that fixes it', () => {
  const dataDir = path.join(folder, 'damaged');
  mkdirSync(path.join(dataDir, 'postgres'), { recursive: true, mode: 0o700 });
  writeFileSync(path.join(dataDir, 'postgres/PG_VERSION'), '18\n');
  writeFileSync(path.join(dataDir, 'migrations.json'), '{}');
  const { status, lines } = start({ DATA_DIR: dataDir });
  expect(status).toBe(1);
  expect(lines).toEqual([
    expect.stringMatching(
      /^Postgres did not start: .*If the data is damaged: mv '.*damaged' '.*damaged\.damaged' and start again/,
    ),
  ]);
});

test('a second npm start names the address of the first, and a killed npm start blocks no other', () => {
  const dataDir = mkdtempSync(path.join(folder, 'claimed-'));
  claimData(dataDir, 'http://127.0.0.1:3000');
  const { status, lines } = start({ DATA_DIR: dataDir });
  expect([status, lines]).toEqual([
    1,
    [expect.stringMatching(/^npm start is already running at http:\/\/127\.0\.0\.1:3000 \(process \d+, data in .*\)/)],
  ]);
  const anotherCommand = { pid: process.ppid, command: 'node tools/start.mjs ', url: 'http://127.0.0.1:3000' };
  writeFileSync(path.join(dataDir, 'start.json'), JSON.stringify(anotherCommand));
  expect(findRunning(dataDir)).toBeUndefined();
});

test.each([undefined, { '0001_baseline': 'another' }])(
  'npm start says what to do with data whose tables an earlier build has created: %j',
  (migrations) => {
    const dataDir = mkdtempSync(path.join(folder, 'earlier-'));
    mkdirSync(path.join(dataDir, 'postgres'), { mode: 0o700 });
    if (migrations) writeFileSync(path.join(dataDir, 'migrations.json'), JSON.stringify(migrations));
    expect(start({ DATA_DIR: dataDir })).toEqual({
      status: 1,
      lines: [
        expect.stringMatching(/^An earlier build has created .*, with other tables: mv '.*' '.*\.old' and start again/),
      ],
    });
  },
);
