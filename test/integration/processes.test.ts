import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import { PACKAGE_ROOT } from '../../src/package';
import { freePort } from '../../tools/local-stack/ports';
import { apiOf } from '../support/api';
import { killProcesses, startProcess } from '../support/processes';
import { scrape } from '../support/prometheus';
import { selfSigned } from '../support/self-signed';
import { QUICK, useStack } from '../support/stack';
import { until } from '../support/until';

const stack = useStack({ worker: false });
const children: ChildProcess[] = [];
const servers: Server[] = [];
afterEach(async () => {
  await killProcesses();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of servers.splice(0)) server.close();
});

/** Runs a script in `dist/`. */
function runScript(script: string): ChildProcess {
  const child = spawn(process.execPath, ['-e', script], { cwd: path.join(PACKAGE_ROOT, 'dist') });
  children.push(child);
  return child;
}

/** Answers Postgres's request for TLS with a certificate that nothing trusts. @returns the port */
async function startUntrusted(): Promise<number> {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true, ...selfSigned('localhost') }).on('error', () => socket.destroy());
    });
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

describe.each([
  ['refuses connections', 'connect ECONNREFUSED', async () => `127.0.0.1:${await freePort()}/orders`],
  ['has an unknown name', 'getaddrinfo ENOTFOUND', () => Promise.resolve('postgres.invalid:5432/orders')],
  [
    'has a certificate that is not trusted',
    'self-signed certificate',
    async () => `127.0.0.1:${await startUntrusted()}/orders?sslmode=verify-full`,
  ],
])('if Postgres %s', (_, reason, address) => {
  test('the API answers 503 until it is stopped', async () => {
    const env = {
      ...QUICK,
      DATABASE_URL: `postgres://orders@${await address()}`,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    };
    const api = await startProcess('server', env);
    const tries = () => api.lines.filter((line) => line.includes('schema not checked yet'));
    await until(() => tries().length >= 3, 'the API has tried three times');
    const url = `http://127.0.0.1:${api.port}`;
    expect((await fetch(`${url}/health/ready`)).status).toBe(503);
    const order = `${url}/api/lending/edge/ecommerce/order/${crypto.randomUUID()}/`;
    expect((await fetch(order, { headers: { Authorization: 'Bearer sk_any' } })).status).toBe(503);
    await api.signal('SIGTERM');
    expect(api.exitCode()).toBe(0);
  });

  test('the migrations say so in a line, and end with 1', async () => {
    const env = { ...process.env, DATABASE_URL: `postgres://orders@${await address()}` };
    const child = spawn(process.execPath, ['src/migrate.js'], { cwd: path.join(PACKAGE_ROOT, 'dist'), env });
    children.push(child);
    const [printed, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(printed).toMatch(new RegExp(`^the database is unavailable: ${reason}.*\\n$`));
  });
});

test('API and worker use no variable that other programs export, and listen on IPv6 and IPv4', async () => {
  const others = {
    ...{ http_proxy: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1', PGSSLMODE: 'require', PGPORT: '1' },
    ...{ PGOPTIONS: '-c nonsense=1', HOST: '[::]', UPDATE_TIMEOUT_MS: '60000' },
  };
  const metricsPort = await freePort();
  const [{ port }, worker] = await Promise.all([
    startProcess('server', { ...stack.env, ...others, METRICS_ADDRESS: `[::]:${metricsPort}` }),
    startProcess('worker', { ...stack.env, ...others }),
  ]);
  const api = apiOf(`http://127.0.0.1:${port}`, stack.seller, stack.api.checkoutKey);
  const created = await api.create();
  expect((await api.cancel(created.body.data.id)).body.data.status).toBe('UNSUCCESSFUL');
  for (const host of ['127.0.0.1', '[::1]'])
    for (const path of [`${port}/health/ready`, `${worker.port}/health/ready`, `${metricsPort}/metrics`])
      expect((await fetch(`http://${host}:${path}`)).status).toBe(200);
});

test('an entry point that has nothing left to do, and was not told to stop, ends with 1', async () => {
  const child = runScript("require('./src/entry-point.js').runUntilSignalled(() => Promise.resolve());");
  expect(await once(child, 'exit')).toEqual([1, null]);
});

test.each(['./src/migrate.js', './src/cli.js'])('%s ends with 1 if it does not reach its end', async (file) => {
  // A promise that nothing resolves keeps no process running.
  const child = runScript(`
    require('pg').Client.prototype.connect = () => new Promise(() => undefined);
    require('pg').Pool.prototype.connect = () => new Promise(() => undefined);
    require('pg').Pool.prototype.query = () => new Promise(() => undefined);
    Object.assign(process.env, { DATABASE_URL: 'postgres://127.0.0.1:1/orders' });
    process.argv = ['node', 'cli', 'seller', 'list'];
    require('${file}');`);
  expect(await once(child, 'exit')).toEqual([1, null]);
});

describe.each([
  ['its disk is full', () => openSync('/dev/full', 'w')],
  ['its reader has gone', () => 'pipe' as const],
])('a log that cannot be written because %s', (_, output) => {
  test.each(['server', 'worker'])('does not stop a %s, which counts the lines', async (entry) => {
    const [port, metricsAddress] = [String(await freePort()), `127.0.0.1:${await freePort()}`];
    const env = { ...process.env, ...stack.env, PORT: port, WORKER_HEALTH_PORT: port, METRICS_ADDRESS: metricsAddress };
    const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, `dist/src/${entry}.js`)], {
      env: { ...env, LOG_LEVEL: 'info' },
      stdio: ['ignore', output(), 'inherit'],
    });
    children.push(child);
    child.stdout?.destroy();
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/health/ready`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await until(isReady, 'it is ready');
    const isCounted = async () => (await scrape(metricsAddress)).value('order_service_dropped_log_lines_total') > 0;
    await until(isCounted, 'lost lines are counted');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

const LOGGER = JSON.stringify('./src/logger.js');
const logAndExit = (script: string) =>
  runScript(`const log = require(${LOGGER}).createLogger('info', 'test'); ${script}`);

test('a process that exits right after its last lines has written them', async () => {
  const child = logAndExit("for (let line = 0; line < 100; line++) log.info('x'); process.exit(0);");
  let output = '';
  child.stdout!.on('data', (data) => (output += String(data)));
  await once(child, 'close');
  expect(output.match(/"msg":"x"/g)).toHaveLength(100);
});

test('a reader that reads nothing neither stops a process nor keeps it from exiting', async () => {
  const child = logAndExit(
    "process.stdout; for (let line = 0; line < 9000; line++) log.info('x'.repeat(99)); setTimeout(() => process.exit(7), 200);",
  );
  expect(await once(child, 'exit')).toEqual([7, null]);
});

test('a line that fits only in part on a disk is counted, and the next one begins on a line of its own', () => {
  // A file whose size the shell limits is full after 512 bytes.
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-log-'));
  const file = path.join(folder, 'log');
  const script = `
    const { createLineWriter } = require(${JSON.stringify(path.join(PACKAGE_ROOT, 'dist/src/logger.js'))});
    const { openSync, readFileSync, truncateSync } = require('node:fs');
    process.on('SIGXFSZ', () => undefined);
    const writer = createLineWriter(openSync(${JSON.stringify(file)}, 'a'));
    const flush = () => new Promise((resolve) => writer.flush(resolve));
    (async () => {
      writer.write('a'.repeat(300) + '\\n');
      writer.write('b'.repeat(300) + '\\n');
      console.log((await flush())?.message);
      truncateSync(${JSON.stringify(file)}, 310);
      writer.write('next\\n');
      await flush();
      console.log(readFileSync(${JSON.stringify(file)}, 'utf8'));
    })();`;
  const output = execFileSync('sh', ['-c', 'ulimit -f 1; exec "$0" -e "$1"', process.execPath, script], {
    encoding: 'utf8',
    // Node would write its cache at its end, and meet the limit.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  expect(output.split('\n')).toEqual(['log lines were dropped', 'a'.repeat(300), 'b'.repeat(9), 'next', '', '']);
  rmSync(folder, { recursive: true });
});
