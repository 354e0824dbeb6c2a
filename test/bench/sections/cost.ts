import { startBare } from '../arms/bare';
import { CHANGES, type OrderArm } from '../arms/order-arm';
import { type Receiver, startReceiver } from '../arms/receiver';
import { startService } from '../arms/service';
import { countDatabase, countHistory, processorMs } from '../counters';
import { closedLoop } from '../load';
import { type Bench, type Section, sizeOf } from '../section';

interface Cost {
  statements: number;
  commits: number;
  walKiB: number;
  rows: number;
  events?: number;
  workflowTasks?: number;
  actions?: number;
  /** Processor time by process, in ms. */
  cpu: Record<string, number>;
}

const CLIENTS = 4;

export const cost: Section = {
  about:
    'What one whole order costs: create, three changes, three webhooks. Counts, which noise does not touch: from ' +
    "Postgres' `pg_stat_statements` and `pg_stat_database`, the tables, and Temporal's histories. Statements include " +
    '`begin` and `commit`. Processor time is that of the processes, at ' +
    `${CLIENTS} clients.`,
  async run(bench) {
    const { servers } = bench;
    const receiver = await startReceiver();
    const costs: Record<string, Cost> = {};
    const service = await startService(servers);
    const serviceHistory = async (id: string) => countHistory(service.client, `order-${id}`);
    costs['this service'] = await costOf(bench, service, receiver, serviceHistory);
    await service.stop();
    if (!bench.short) await addOthers(bench, receiver, costs);
    await receiver.stop();
    const ours = costs['this service'];
    return {
      blocks: 1,
      rows: [
        {
          what: 'SQL statements per order',
          against: 'the first version: 66',
          unit: '',
          ours: ours.statements,
          theirs: 66,
          goal: { of: 'value', atMost: 20 },
        },
      ],
      tables: [countsTable(costs), cpuTable(costs)],
    };
  },
};

/** The arms that do the same job. */
async function addOthers(bench: Bench, receiver: Receiver, costs: Record<string, Cost>): Promise<void> {
  const { servers } = bench;
  const bare = await startBare(servers);
  const bareHistory = async (id: string) => countHistory(bare.client, id);
  costs['bare Temporal, ordinary'] = await costOf(bench, bare.shape('ordinaryOrder'), receiver, bareHistory);
  costs['bare Temporal, lean'] = await costOf(bench, bare.shape('leanOrder'), receiver, bareHistory);
  await bare.stop();
}

async function costOf(
  bench: Bench,
  arm: OrderArm,
  receiver: Receiver,
  history?: (orderId: string) => Promise<Pick<Cost, 'events' | 'workflowTasks' | 'actions'>>,
): Promise<Cost> {
  const { servers } = bench;
  const count = sizeOf(bench, 40, 8);
  const whole = async (size: number): Promise<string[]> => {
    const ids: string[] = [];
    await closedLoop(CLIENTS, size, async () => {
      const id = await arm.create(receiver.url);
      ids.push(id);
      for (let version = 1; version <= CHANGES; version++) await arm.change(id, version);
    });
    await receiver.allArrived(ids, CHANGES);
    return ids;
  };
  await whole(sizeOf(bench, 16, 4));
  const pids = { ...arm.pids, Postgres: servers.postgresPid, Temporal: servers.temporalPid };
  const readCpu = () => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, processorMs(pid)]));
  const before = { counts: await countDatabase(servers, arm.database), cpu: readCpu() };
  const ids = await whole(count);
  const after = { cpu: readCpu(), counts: await countDatabase(servers, arm.database) };
  const each = (name: 'statements' | 'commits' | 'walBytes' | 'rows') =>
    (after.counts[name] - before.counts[name]) / count;
  return {
    statements: each('statements'),
    commits: each('commits'),
    walKiB: each('walBytes') / 1024,
    rows: each('rows'),
    ...(await history?.(ids.at(-1)!)),
    cpu: Object.fromEntries(Object.keys(pids).map((name) => [name, (after.cpu[name]! - before.cpu[name]!) / count])),
  };
}

function countsTable(costs: Record<string, Cost>) {
  const header = [
    'arm',
    'SQL statements',
    'commits',
    'WAL KiB',
    'rows',
    'history events',
    'workflow tasks',
    'Temporal actions',
  ];
  const rows = Object.entries(costs).map(([name, found]) => [
    ...[name, found.statements, found.commits, found.walKiB, found.rows],
    ...[found.events, found.workflowTasks, found.actions].map((count) => count ?? '–'),
  ]);
  return { title: 'Counts per order', header, rows };
}

function cpuTable(costs: Record<string, Cost>) {
  const header = ['arm', 'own processes, ms', 'Postgres, ms', 'Temporal, ms', 'all, ms', 'orders/s per core'];
  const rows = Object.entries(costs).map(([name, { cpu }]) => {
    const { Postgres = 0, Temporal = 0, ...own } = cpu;
    const processes = Object.values(own).reduce((sum, ms) => sum + ms, 0);
    const all = processes + Postgres + Temporal;
    return [name, processes, Postgres, Temporal, all, 1000 / all];
  });
  return { title: 'Processor time per order', header, rows };
}
