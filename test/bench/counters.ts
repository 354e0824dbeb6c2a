import { setTimeout as delay } from 'node:timers/promises';
import { readFileSync, readdirSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import pg from 'pg';
import type { Servers } from './servers';

interface DatabaseCounts {
  statements: number;
  commits: number;
  walBytes: number;
  rows: number;
}

/** Until the last statements of an order, after its last webhook, are done. */
const SETTLE_MS = 1000;
/** An idle backend reports its commits and rows after ten seconds. */
const STATISTICS_DELAY_MS = 10_500;

/** What Postgres has counted for a database since it was created. WAL is that of the whole server. */
export async function countDatabase({ admin, databaseUrl }: Servers, database: string): Promise<DatabaseCounts> {
  await delay(SETTLE_MS);
  const statements = await admin.query<Pick<DatabaseCounts, 'statements' | 'walBytes'>>(
    `select coalesce(sum(calls), 0)::float8 as statements,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes"
     from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = $1`,
    [database],
  );
  await delay(STATISTICS_DELAY_MS);
  const commits = await admin.query<Pick<DatabaseCounts, 'commits'>>(
    'select xact_commit::float8 as commits from pg_stat_database where datname = $1',
    [database],
  );
  return { ...statements.rows[0]!, ...commits.rows[0]!, rows: await countRows(databaseUrl(database)) };
}

/** The rows of all tables: inserted less deleted. */
async function countRows(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ count: number }>(
    'select sum(n_tup_ins - n_tup_del)::float8 as count from pg_stat_user_tables',
  );
  await client.end();
  return rows[0]!.count;
}

const { EventType } = temporal.api.enums.v1;
const TASK_COMPLETED: number = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED;
/**
 * Events that Temporal Cloud bills as one action each. Retries of activities are billed too, and are not in the
 * history.
 */
const ACTIONS = new Set<number>([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
  // A local activity's result. Several of one workflow task are one action.
  EventType.EVENT_TYPE_MARKER_RECORDED,
]);

/** Counts a run's history: its events, the workflow tasks, and the billed actions. */
export async function countHistory(client: Client, workflowId: string) {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const types = (events ?? []).map(({ eventType }) => eventType as number);
  const count = (included: (type: number) => boolean): number => types.filter(included).length;
  return {
    events: types.length,
    workflowTasks: count((type) => type === TASK_COMPLETED),
    actions: count((type) => ACTIONS.has(type)),
  };
}

/** The processor time of some processes, each with its children, in ms. Always 0 on other systems than Linux. */
export function processorMs(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const children = new Map<number, number[]>();
  const times = new Map<number, number>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(entry);
    if (!fields) continue;
    const parent = Number(fields[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    // See proc(5): utime, stime, and those of children that have ended.
    times.set(Number(entry), fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * MS_PER_TICK);
  }
  const total = (id: number): number =>
    (times.get(id) ?? 0) + (children.get(id) ?? []).reduce((sum, child) => sum + total(child), 0);
  return total(pid);
}

const MS_PER_TICK = 10;

/** The fields after the name, which may contain blanks. */
function statOf(pid: string): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
