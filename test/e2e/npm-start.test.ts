import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { apiOf } from '../support/api';
import { runCli } from '../support/cli';
import type { ServiceProcess } from '../support/processes';
import { killProcesses, startProcess } from '../support/processes';
import { startReceiver } from '../support/receiver';
import { until } from '../support/until';

jest.setTimeout(180_000);

let dataDir: string;
beforeAll(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-start-'));
});
afterAll(async () => {
  await killProcesses();
  rmSync(dataDir, { recursive: true, force: true });
});

const start = () => startProcess('dev', { DATA_DIR: dataDir, LOG_LEVEL: 'warn' }, /Ctrl-C stops/);

function demo(): Record<string, string> {
  const lines = readFileSync(path.join(dataDir, 'demo.env'), 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

function demoApi() {
  const { ORDERS_URL, SELLER_ID, SELLER_API_KEY, CHECKOUT_API_KEY } = demo();
  return apiOf(ORDERS_URL!, { id: SELLER_ID!, key: SELLER_API_KEY! }, CHECKOUT_API_KEY!);
}

async function paste(service: ServiceProcess): Promise<any[]> {
  const commands = service.lines.filter((line) => line.startsWith('curl '));
  const answers = [];
  for (const command of commands) answers.push((await promisify(execFile)('bash', ['-c', command])).stdout);
  return answers.map((answer) => JSON.parse(answer));
}

test('npm start: the printed commands work, a webhook arrives signed, and an open order outlives a restart', async () => {
  const receiver = await startReceiver();
  const first = await start();
  const [created, retrieved, cancelled] = await paste(first);
  expect(created.data.status).toBe('CREATED');
  expect(retrieved.data).toMatchObject({ id: created.data.id, amount: 1234.5, status: 'CREATED' });
  expect(cancelled.data).toMatchObject({ status: 'UNSUCCESSFUL', cancelled_at: expect.any(String) });

  const checkout = first.lines
    .find((line) => line.includes('  Checkout  '))!
    .trim()
    .split(/ +/)[1]!;
  expect(await (await fetch(checkout)).text()).toContain('How would you like to pay?');

  const before = demo();
  expect(Object.keys(before)).toEqual([
    ...['ORDERS_URL', 'SELLER_ID', 'SELLER_API_KEY', 'CHECKOUT_API_KEY', 'WEBHOOK_SECRET'],
    ...[
      'CHECKOUT_BASE_URL',
      'DATABASE_URL',
      'TEMPORAL_ADDRESS',
      'TEMPORAL_NAMESPACE',
      'TEMPORAL_UI_URL',
      'METRICS_URL',
    ],
  ]);
  expect(await (await fetch(before.METRICS_URL!)).text()).toContain('temporal_');
  expect((await fetch(before.TEMPORAL_UI_URL!)).status).toBe(200);
  const operated = await runCli(['order', 'show', created.data.id, '--json'], { DATA_DIR: dataDir });
  expect(operated.json()).toMatchObject({ id: created.data.id, status: 'UNSUCCESSFUL' });
  expect(await runCli(['reconcile'], { DATA_DIR: dataDir })).toMatchObject({ stderr: '', code: 0 });
  const open = await demoApi().create({ webhook_url: receiver.url });
  const { id } = open.body.data;
  await demoApi().progress(id, 'signup_started');
  await until(() => receiver.deliveries.length === 1, 'the webhook came');
  const { text, headers } = receiver.deliveries[0]!;
  new Webhook(before.WEBHOOK_SECRET!).verify(text, headers as Record<string, string>);

  await expect(start()).rejects.toThrow(/already running/);
  expect((await demoApi().get(id)).status).toBe(200);
  await first.signal('SIGINT');
  expect(first.exitCode()).toBe(0);

  const second = await start();
  expect(demo().SELLER_API_KEY).toBe(before.SELLER_API_KEY);
  expect((await demoApi().get(id)).body.data.status).toBe('PENDING');
  const answer = await demoApi().cancel(id);
  expect(answer.body.data).toMatchObject({ status: 'UNSUCCESSFUL', cancelled_at: expect.any(String) });
  await until(() => receiver.deliveries.length === 2, 'the second webhook came');
  await second.signal('SIGTERM');
  expect(second.exitCode()).toBe(0);
  await receiver.stop();
});
