import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseEnv, promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { PACKAGE_ROOT } from '../../src/package';
import { readLines } from '../../tools/local-stack/child';
import { apiOf } from '../support/api';
import { runCli } from '../support/cli';
import { killProcesses, startProcess, type ServiceProcess } from '../support/processes';
import { useReceiver } from '../support/receiver';
import { until } from '../support/until';

jest.setTimeout(600_000);

const receiver = useReceiver();
let folder: string;
let dataDir: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-start-'));
  dataDir = path.join(folder, 'data');
});
afterAll(async () => {
  await killProcesses('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

/** What a machine exports for other programs. Nothing listens on port 1. */
const OTHERS = {
  ...{ HOST: 'x86_64-conda-linux-gnu', NODE_ENV: 'production' },
  ...{ http_proxy: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1', no_proxy: 'localhost' },
  ...{ PGSSLMODE: 'require', PGOPTIONS: '-c nonsense=1', PGPORT: '1', PGDATA: '/nowhere' },
  ...{ TEMPORAL_NAMESPACE: 'other', TEMPORAL_TLS: 'true', TEMPORAL_PROXY: '127.0.0.1:1' },
};

const start = () =>
  startProcess('npm-start', { ...OTHERS, DATA_DIR: dataDir, LOG_LEVEL: 'warn' }, { isUp: /Ctrl-C stops/ });

/** The files and folders below `dataDir` that another user could read or change. */
function readableByOthers(): string[] {
  const entries = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  const mode = (entry: string) => statSync(path.join(dataDir, entry), { throwIfNoEntry: false })?.mode ?? 0;
  // Postgres' user may enter the folder itself.
  return [...(mode('') & 0o066 ? [dataDir] : []), ...entries.filter((entry) => mode(entry) & 0o077)];
}

const demoEnv = () => parseEnv(readFileSync(path.join(dataDir, 'demo.env'), 'utf8'));

function demoApi() {
  const { ORDERS_URL, SELLER_ID, SELLER_API_KEY, CHECKOUT_API_KEY } = demoEnv();
  return apiOf(ORDERS_URL!, { id: SELLER_ID!, key: SELLER_API_KEY! }, CHECKOUT_API_KEY!);
}

/** Runs the printed curl commands and returns their JSON output. */
async function runPrintedCommands(service: ServiceProcess): Promise<any[]> {
  const commands = service.lines.filter((line) => line.startsWith('curl '));
  const outputs = [];
  for (const command of commands) outputs.push((await promisify(execFile)('bash', ['-c', command])).stdout);
  return outputs.map((output) => JSON.parse(output));
}

test('npm start prints commands that work, delivers a signed webhook and resumes an open order after a restart', async () => {
  // Another program, if not on this machine anyway, uses the port of the API.
  const holder = createServer().listen(3000, '127.0.0.1');
  await Promise.race([once(holder, 'listening'), once(holder, 'error')]);
  const first = await start();
  holder.close();
  const [created, retrieved, cancelled] = await runPrintedCommands(first);
  expect(created.data.status).toBe('CREATED');
  expect(retrieved.data).toMatchObject({ id: created.data.id, amount: 1234.5, status: 'CREATED' });
  expect(cancelled.data).toMatchObject({ status: 'UNSUCCESSFUL', cancelled_at: expect.any(String) });

  const checkout = first.lines
    .find((line) => line.includes('  Checkout  '))!
    .trim()
    .split(/ +/)[1]!;
  expect(await (await fetch(checkout)).text()).toContain('How would you like to pay?');

  expect(first.lines.join('\n')).toContain('Live accounts: no lender, no bank.');

  const before = demoEnv();
  expect(Object.keys(before).sort()).toEqual([
    ...['CHECKOUT_API_KEY', 'CHECKOUT_BASE_URL', 'DATABASE_URL', 'HOSTED_CHECKOUT', 'METRICS_URL', 'ORDERS_URL'],
    ...['SELLER_API_KEY', 'SELLER_ID', 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_UI_URL', 'WEBHOOK_SECRET'],
  ]);
  expect(await (await fetch(before.METRICS_URL!)).text()).toContain('temporal_');
  expect((await fetch(before.TEMPORAL_UI_URL!)).status).toBe(200);
  const shown = await runCli(['order', 'show', created.data.id, '--json'], { DATA_DIR: dataDir });
  expect(shown.json()).toMatchObject({ id: created.data.id, status: 'UNSUCCESSFUL' });
  expect(await runCli(['reconcile'], { DATA_DIR: dataDir })).toMatchObject({
    stderr: expect.stringMatching(/^using the service of npm start \(.*demo\.env\)\n$/),
    code: 0,
  });
  expect(await runCli(['status'], { DATA_DIR: dataDir })).toMatchObject({
    stdout: expect.stringMatching(/^workers checkout +ok/m),
    code: 0,
  });
  const open = await demoApi().create({ webhook_url: receiver.url });
  const { id } = open.body.data;
  await demoApi().progress(id, 'signup_started');
  await until(() => receiver.deliveries.length === 1, 'the webhook arrives');
  const { text, headers } = receiver.deliveries[0]!;
  new Webhook(before.WEBHOOK_SECRET!).verify(text, headers as Record<string, string>);

  expect(readableByOthers()).toEqual([]);

  await expect(start()).rejects.toThrow(/already running/);
  expect((await demoApi().get(id)).status).toBe(200);
  await first.signal('SIGINT');
  expect(first.exitCode()).toBe(0);

  const second = await start();
  // Links that were given out stay valid.
  const urls = ['ORDERS_URL', 'CHECKOUT_BASE_URL', 'TEMPORAL_UI_URL', 'DATABASE_URL', 'METRICS_URL'];
  expect(urls.map((name) => demoEnv()[name])).toEqual(urls.map((name) => before[name]));
  expect(before.ORDERS_URL).not.toMatch(/:3000$/);
  expect(demoEnv().SELLER_API_KEY).toBe(before.SELLER_API_KEY);
  expect((await demoApi().get(id)).body.data.status).toBe('PENDING');
  const cancellation = await demoApi().cancel(id);
  expect(cancellation.body.data).toMatchObject({ status: 'UNSUCCESSFUL', cancelled_at: expect.any(String) });
  await until(() => receiver.deliveries.length === 2, 'the second webhook arrives');
  await second.signal('SIGTERM');
  expect(second.exitCode()).toBe(0);
});

// In this file, so that no other start takes a port between its choice and its use.
describe('signals', () => {
  let data: string;
  let tests = 0;
  beforeEach(() => {
    data = path.join(folder, `signals-${++tests}`);
  });
  afterEach(() => killProcesses('SIGTERM'));

  const inDataDir = (file: string): string => path.join(data, file);
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
    const service = await startProcess('npm-start', { DATA_DIR: data, LOG_LEVEL: 'warn' }, { isUp: /Ctrl-C stops/ });
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
      env: { PATH, HOME, XDG_CACHE_HOME, DATA_DIR: data },
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
});
