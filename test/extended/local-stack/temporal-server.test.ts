import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { freePort } from '../../../tools/local-stack/ports';
import { startTemporal, type TemporalServer } from '../../../tools/local-stack/temporal-server';

/** IndexedValueType of the API, which the client does not export. */
const KEYWORD = 2;
const STATUS = defineSearchAttributeKey('OrderStatus', SearchAttributeType.KEYWORD);
const NAMESPACE = 'shop';

let dataDir: string;
let port: number;
let uiPort: number;
let server: TemporalServer | undefined;
let connections: Connection[];

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'orders-temporal-'));
  [port, uiPort] = [await freePort(), await freePort()];
  connections = [];
});

afterEach(async () => {
  await Promise.all(connections.map((connection) => connection.close()));
  await server?.stop();
  server = undefined;
  rmSync(dataDir, { recursive: true, force: true });
});

const start = async (ui = false) =>
  (server = await startTemporal({ dataDir, port, uiPort, ui, durable: false, log: () => undefined }));

async function connect(): Promise<Connection> {
  const connection = await Connection.connect({ address: server!.address });
  connections.push(connection);
  return connection;
}

/** Creates a namespace, a search attribute and a workflow that uses it, without a retry. */
async function populate(): Promise<void> {
  const connection = await connect();
  const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
  await connection.workflowService.registerNamespace({ namespace: NAMESPACE, workflowExecutionRetentionPeriod });
  await connection.operatorService.addSearchAttributes({
    namespace: NAMESPACE,
    searchAttributes: { [STATUS.name]: KEYWORD as never },
  });
  const client = new Client({ connection, namespace: NAMESPACE });
  const options = { workflowId: 'order-1', taskQueue: 'orders' };
  await client.workflow.start('order', { ...options, typedSearchAttributes: [{ key: STATUS, value: 'CREATED' }] });
}

async function expectPopulated(): Promise<void> {
  const connection = await connect();
  const client = new Client({ connection, namespace: NAMESPACE });
  const description = await client.workflow.getHandle('order-1').describe();
  expect(description.status.name).toBe('RUNNING');
  expect(description.typedSearchAttributes.get(STATUS)).toBe('CREATED');
  const poll = { namespace: NAMESPACE, taskQueue: { name: 'orders' } };
  const task = await connection.withDeadline(Date.now() + 20_000, () =>
    connection.workflowService.pollWorkflowTaskQueue(poll),
  );
  expect(task.workflowExecution?.workflowId).toBe('order-1');
}

test('a namespace and a search attribute are usable immediately and survive a stop and a start', async () => {
  await start();
  await populate();
  const before = Date.now();
  await server!.stop();
  // After 10 s the server would be killed.
  expect(Date.now() - before).toBeLessThan(9500);
  await start();
  await expectPopulated();
});

test('a start ends the server of a killed run and uses its data and its port', async () => {
  const { exited, address } = await start();
  await populate();
  await start();
  expect(await exited).toMatch(/^ended/);
  expect(server!.address).toBe(address);
  await expectPopulated();
});

test('the server listens only on loopback and has its own process group', async () => {
  if (process.platform !== 'linux') return;
  const { pid } = await start();
  // proc(5): the fifth field is the process group. Ctrl-C in a terminal must not reach the server before the drain.
  expect(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[2]).toBe(String(pid));
  expect(listeningOn(pid).length).toBeGreaterThan(0);
  // 127.0.0.1 in the kernel's notation.
  expect(listeningOn(pid).filter((address) => address !== '0100007F')).toEqual([]);
});

/** The addresses of the process's listening sockets, found by inode in /proc/<pid>/fd and /proc/<pid>/net/tcp. */
function listeningOn(pid: number): string[] {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // The server has closed it since.
      return '';
    }
  });
  const rows = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1),
  );
  const sockets = rows.map((row) => row.trim().split(/\s+/));
  return sockets.filter((s) => s[3] === '0A' && links.includes(`socket:[${s[9]}]`)).map((s) => s[1]!.split(':')[0]!);
}

function damageDatabase(): void {
  // SQLite would restore the file from these.
  for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, `temporal.db${suffix}`), { force: true });
  writeFileSync(join(dataDir, 'temporal.db'), 'cut off');
}

test('a start recreates an incomplete database', async () => {
  await start();
  await server!.stop();
  rmSync(join(dataDir, 'complete'));
  damageDatabase();
  await start();
  await populate();
});
