import { randomUUID } from 'node:crypto';
import { deleteOldData } from '../../../src/db/old-data';
import { oldDataOf } from '../../../src/db/retention';
import { BASE, apiOf } from '../../support/api';
import { spawnCli } from '../../support/cli';
import { portalVisitor } from '../../support/portal';
import { startProcess } from '../../support/processes';
import { until } from '../../support/until';
import { expectStatus } from '../arms/http';
import { startReceiver } from '../arms/receiver';
import { type Service, startService } from '../arms/service';
import { copyOrders, createTemplate } from '../copy-orders';
import { paced, timed } from '../load';
import { p50 } from '../probes';
import { type Bench, type Row, type Section, compare, inBlocks, sizeOf } from '../section';

const PER_SECOND = 20;
const FEW = 200;
/** A sequential scan of more rows than this is a fault. */
const LARGE = 10_000;
const TABLES = ['orders', 'order_timeline', 'idempotency_key', 'webhook_event', 'webhook_attempt'];

export const rows: Section = {
  about:
    'What operators have after two years: 1,000,000 closed orders of one seller with 3 webhooks and 4 attempts each, ' +
    `and 20,000 open ones, beside a service with ${FEW} orders. One client makes ${PER_SECOND} calls a second.`,
  async run(bench) {
    const [many, open] = [sizeOf(bench, Number(process.env.ROWS ?? 1_000_000), 20_000), sizeOf(bench, 20_000, 1000)];
    const large = await startFilled(bench, many, open);
    const small = await startFilled(bench, FEW, 20);
    const before = await readCounters(large);
    const ids = await Promise.all([large, small].map(idsOf));
    const visitors = await Promise.all([large, small].map(visitorOf));
    const callsAt = (service: Service, index: number) => ({
      ...callsOf(service, ids[index]!),
      ...pagesOf(visitors[index]!, ids[index]!),
    });
    const calls = Object.keys(callsAt(large, 0));
    const values: Record<string, { large: number[]; small: number[] }> = {};
    for (const name of calls) {
      const arm = (service: Service, index: number) => async () =>
        p50(await paced(PER_SECOND, sizeOf(bench, 40, 20), callsAt(service, index)[name]!));
      values[name] = await inBlocks(bench, { large: arm(large, 0), small: arm(small, 1) });
    }
    values['start of a worker'] = await inBlocks(bench, { large: () => start(large), small: () => start(small) });
    const status = (service: Service) => async () =>
      timed(async () => {
        const { stdout } = await spawnCli(['status'], service.env);
        if (!stdout.includes('postgres')) throw new Error(stdout);
      });
    values['`cli status`'] = await inBlocks(bench, { large: status(large), small: status(small) });
    const scans = await scansSince(large, before);
    const removal = await removeMany(large, ids[0]!, Math.min(many / 2, 100_000));
    return {
      blocks: bench.blocks,
      rows: [
        ...Object.entries(values).map(([name, value]) =>
          compare(
            {
              what: `${name} p50 with ${many.toLocaleString('en-GB')} orders`,
              against: `with ${FEW}`,
              unit: 'ms',
              goal: { of: 'ratio', atMost: 1.2 },
            },
            value.large,
            value.small,
          ),
        ),
        ...removal,
        {
          what: 'sequential scans of large tables',
          against: '',
          unit: '',
          ours: scans,
          goal: { of: 'value', atMost: 0 },
        },
      ],
      tables: [await sizes(large, many + open), await retained(small)],
    };
  },
};

async function startFilled(bench: Bench, closed: number, open: number): Promise<Service> {
  const receiver = bench.servers.track(await startReceiver());
  const service = await startService(bench.servers, {
    // The copies are at most two years old.
    env: { ORDER_RETENTION_DAYS: '3000', WEBHOOK_RETENTION_DAYS: '3000' },
  });
  const template = await createTemplate(service, receiver);
  await copyOrders(service.db, template, {
    count: closed,
    everySeconds: Math.floor((600 * 86_400) / closed),
    name: 'copy',
  });
  await copyOrders(service.db, template, { count: open, everySeconds: 1, name: 'open' });
  return service;
}

async function idsOf(service: Service): Promise<string[]> {
  const { rows: found } = await service.db.query<{ id: string }>(
    `select id from orders where seller_id = $1 and status = 'SUCCESSFUL' order by id limit ${FEW}`,
    [service.seller.id],
  );
  return found.map(({ id }) => id);
}

/** Each kind of call with the number of the call. */
function callsOf(service: Service, ids: readonly string[]): Record<string, (index: number) => Promise<unknown>> {
  const seller = `${BASE}/seller/${service.seller.id}`;
  const read = (path: (id: string, index: number) => string) => async (index: number) =>
    expectStatus(await service.read(path(ids[index % ids.length]!, index)), 200);
  const year = new Date(Date.now() - 300 * 86_400_000).toISOString();
  return {
    create: () => service.create(),
    GET: read((id) => `${BASE}/order/${id}/`),
    timeline: read((id) => `${BASE}/order/${id}/timeline/`),
    list: read(() => `${seller}/order/`),
    'later page': read((id) => `${seller}/order/?cursor=${id}`),
    'list by status': read(() => `${seller}/order/?status=PENDING`),
    'list by reference': read((_, index) => `${seller}/order/?reference=copy-${index + 1}`),
    'list by amount': read((_, index) => `${seller}/order/?amount=${(index + 1) / 100}`),
    'list by change': read(() => `${seller}/order/?updated_from=${year}`),
    'list by completion': read(() => `${seller}/order/?completed_from=${year}`),
    'list by completion and amount': read(() => `${seller}/order/?completed_from=${year}&amount=0.05`),
    webhooks: read(() => `${seller}/webhook_event/`),
    'exhausted webhooks': read(() => `${seller}/webhook_event/?state=exhausted`),
    'unknown order': async () => expectStatus(await service.read(`${BASE}/order/${randomUUID()}/`), 404),
  };
}

/** A person who is signed in to the seller's page. */
async function visitorOf({ port, seller }: Service): Promise<Visitor> {
  const visitor = portalVisitor({ api: apiOf(`http://127.0.0.1:${port}`, seller, ''), seller });
  await visitor.signIn();
  return visitor;
}
type Visitor = ReturnType<typeof portalVisitor>;

/** The pages of the seller's page. */
function pagesOf(visitor: Visitor, ids: readonly string[]): Record<string, (index: number) => Promise<void>> {
  const open = (path: (id: string) => string) => async (index: number) => {
    const { status, text } = await visitor.get(`/portal/${path(ids[index % ids.length]!)}`);
    if (status !== 200) throw new Error(text);
  };
  return {
    'page: overview': open(() => 'overview/'),
    'page: orders': open(() => 'orders/'),
    'page: an order': open((id) => `orders/${id}/`),
    'page: webhooks': open(() => 'webhooks/'),
    'page: developers': open(() => 'developers/'),
  };
}

/** The time until another worker of the service has started. */
async function start(service: Service): Promise<number> {
  const begun = performance.now();
  const worker = await startProcess('worker', service.env);
  const time = performance.now() - begun;
  await worker.signal('SIGKILL');
  return time;
}

type Counters = Map<string, number>;

/** Sequential scans of each large table. */
async function readCounters({ db }: Service): Promise<Counters> {
  const { rows: found } = await db.query<{ name: string; scans: number }>(
    `select relname as name, seq_scan::int as scans from pg_stat_user_tables
     where n_live_tup > ${LARGE} or relname = any($1)`,
    [TABLES],
  );
  return new Map(found.map(({ name, scans }) => [name, scans]));
}

async function scansSince(service: Service, before: Counters): Promise<number> {
  // An idle session reports within ten seconds.
  await new Promise((resolve) => setTimeout(resolve, 11_000));
  const since = [...(await readCounters(service))].map(
    ([name, scans]) => [name, scans - (before.get(name) ?? 0)] as const,
  );
  for (const [name, scans] of since) if (scans > 0) console.log(`  ${scans} sequential scans of ${name}`);
  return since.reduce((sum, [, scans]) => sum + scans, 0);
}

/** Reads orders while a worker deletes others, and the rate of the deletion. */
async function removeMany(service: Service, ids: string[], count: number): Promise<Row[]> {
  const read = callsOf(service, ids).GET!;
  const alone = await paced(PER_SECOND, 200, read);
  await service.db.query(
    `update orders set saved_at = saved_at - interval '4000 days' where id in (
       select id from orders where status = 'SUCCESSFUL' and id <> all($1) limit $2)`,
    [ids, count],
  );
  const left = async () =>
    (
      await service.db.query<{ left: number }>(
        `select count(*)::int as left from orders where status in ('SUCCESSFUL', 'UNSUCCESSFUL') and saved_at < now() - interval '3000 days'`,
      )
    ).rows[0]!.left;
  await until(async () => (await left()) < count, 'the deletion has begun', 60_000);
  const begun = performance.now();
  const first = await left();
  const beside = await paced(PER_SECOND, 200, read);
  await until(async () => (await left()) === 0, 'all are deleted', 1_800_000);
  const seconds = (performance.now() - begun) / 1000;
  return [
    compare(
      { what: 'GET p50 beside the deletion of old orders', against: 'alone', unit: 'ms' },
      [p50(beside)],
      [p50(alone)],
    ),
    { what: 'old orders deleted by one worker', against: '', unit: '/s', ours: first / seconds },
  ];
}

async function sizes({ db }: Service, orders: number) {
  const { rows: found } = await db.query<{ name: string; table: number; index: number }>(
    `select relname as name, (pg_table_size(relid) / $2::float8) as table, (pg_indexes_size(relid) / $2::float8) as index
     from pg_stat_user_tables where relname = any($1) order by pg_total_relation_size(relid) desc`,
    [TABLES, orders],
  );
  const sum = (key: 'table' | 'index') => found.reduce((total, row) => total + row[key], 0);
  return {
    title: 'Bytes of an order',
    header: ['table', 'rows', 'indexes'],
    rows: [...found.map((row) => [row.name, row.table, row.index]), ['all', sum('table'), sum('index')]],
  };
}

/** Rewrites the tables, so that nothing but what is stored counts. */
async function bytes({ db }: Service, orders: number): Promise<number> {
  for (const table of TABLES) await db.query(`vacuum full ${table}`);
  const { rows: found } = await db.query<{ bytes: number }>(
    `select sum(pg_total_relation_size(relid))::float8 as bytes from pg_stat_user_tables where relname = any($1)`,
    [TABLES],
  );
  return found[0]!.bytes / orders;
}

/** The bytes of closed orders before and after the deletion of their webhooks' content. */
async function retained(service: Service) {
  const orders = 10_000;
  const original = await service.db.query<{ id: string }>(
    `select id from orders where status = 'SUCCESSFUL' and reference not like 'copy-%'`,
  );
  await copyOrders(service.db, original.rows[0]!.id, { count: orders, everySeconds: 5000, name: 'sized' });
  const { rows: found } = await service.db.query<{ all: number }>('select count(*)::int as all from orders');
  const before = await bytes(service, found[0]!.all);
  const kind = oldDataOf({ webhookDays: 0, sandboxDays: 30 }).find(({ name }) => name === 'webhook_contents')!;
  for (let deleted = 1; deleted > 0;) ({ deleted } = await deleteOldData(service.db, kind, 1000));
  const after = await bytes(service, found[0]!.all);
  return {
    title: 'Bytes of a closed order in tables without free space',
    header: ['with the content of its webhooks', 'after WEBHOOK_RETENTION_DAYS', 'after ORDER_RETENTION_DAYS'],
    rows: [[before, after, 0]],
  };
}
