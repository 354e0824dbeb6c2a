import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { PACKAGE_ROOT } from '../../src/package';
import { readLines } from '../../tools/local-stack/child';
import { killProcesses, startProcess } from '../support/processes';
import { until } from '../support/until';

jest.setTimeout(300_000);

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-signals-'));
  dataDir = path.join(folder, 'data');
});
afterEach(async () => {
  await killProcesses('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

const start = (isUp: RegExp) => startProcess('npm-start', { DATA_DIR: dataDir, LOG_LEVEL: 'warn' }, { isUp });
const inDataDir = (file: string): string => path.join(dataDir, file);
const servers = (): number[] =>
  ['postgres/postmaster.pid', 'temporal/temporal.pid']
    .map((file) => Number(readLines(inDataDir(file))[0]))
    .filter((pid) => pid > 0);

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a second Ctrl-C ends Postgres and Temporal too, although the stop waits for a request', async () => {
  const service = await start(/Ctrl-C stops/);
  const pids = servers();
  expect(pids).toHaveLength(2);
  const { ORDERS_URL, SELLER_API_KEY } = parseEnv(readFileSync(inDataDir('demo.env'), 'utf8'));
  process.kill(pids[0]!, 'SIGSTOP');
  // Its backends too: the request waits for them.
  const backends = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pids[0])], { encoding: 'utf8' });
  for (const pid of backends.trim().split(/\s+/)) process.kill(Number(pid), 'SIGSTOP');
  const call = fetch(`${ORDERS_URL}/api/lending/edge/ecommerce/order/${crypto.randomUUID()}/`, {
    headers: { Authorization: `Bearer ${SELLER_API_KEY}` },
  }).catch(() => undefined);
  const ended = service.signal('SIGINT');
  await until(() => service.lines.some((line) => line.startsWith('Stopping.')), 'the stop has begun');
  // Within a second, it would be the same signal, passed on by npm.
  await delay(1100);
  expect(service.isRunning()).toBe(true);
  await service.signal('SIGINT');
  await Promise.all([ended, call]);
  expect(service.exitCode()).toBe(130);
  for (const pid of backends.trim().split(/\s+/)) if (exists(Number(pid))) process.kill(Number(pid), 'SIGCONT');
  await until(() => !pids.some(exists), 'Postgres and Temporal have ended');
});

/** Runs `npm start` in a terminal, and closes it when a line arrives on standard input. */
const IN_TERMINAL = `
import os, pty, sys, threading
pid, terminal = pty.fork()
if pid == 0:
    os.execvp('npm', ['npm', 'start'])
def copy():
    try:
        while True:
            os.write(1, os.read(terminal, 4096))
    except OSError:
        pass
threading.Thread(target=copy, daemon=True).start()
sys.stdin.readline()
os._exit(0)
`;

test('closing the terminal of npm start ends everything', async () => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  const terminal = spawn('python3', ['-c', IN_TERMINAL], {
    cwd: PACKAGE_ROOT,
    env: { PATH, HOME, XDG_CACHE_HOME, DATA_DIR: dataDir },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  terminal.stdout.on('data', (data) => (output += String(data)));
  await until(() => output.includes('Ctrl-C stops'), 'the service is up');
  const { pid } = JSON.parse(readFileSync(inDataDir('start.json'), 'utf8')) as { pid: number };
  const pids = [pid, ...servers()];
  expect(pids).toHaveLength(3);
  const ended = once(terminal, 'exit');
  terminal.stdin.end('\n');
  await ended;
  await until(() => !pids.some(exists), 'node, Postgres and Temporal have ended');
  // The next start is not refused.
  expect(existsSync(inDataDir('start.json'))).toBe(false);
});
