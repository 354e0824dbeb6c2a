import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createTemporalClient } from '../../src/temporal/connection';
import { ensureNamespace } from '../../src/temporal/server';
import { createDatabase } from '../support/database';
import { createSellerKey } from '../support/keys';
import { watchMemory } from '../support/memory';
import { type ServiceProcess, startProcess } from '../support/processes';
import { createSeller, type TestSeller } from '../support/stack';

/** A process that uses more is killed, as in a container with this limit. */
export const MEMORY_LIMIT_MB = 1024;
/** As in the image. The heap is half of the container's memory, which Node would choose itself in a container. */
const NODE_OPTIONS = ['--max-semi-space-size=16', `--max-old-space-size=${MEMORY_LIMIT_MB / 2}`];
const WATCH_MS = 50;
const OTHERS = 2;
/** The others use each within a calm period: an address over its limit can use the keys that it has used lately. */
const KEYS_PER_SELLER = 5;

export type Caller = Pick<TestSeller, 'id'> & { keys: string[] };

/** What callers of the service know. */
export interface Target {
  port: number;
  /** Of an API process behind one proxy. */
  proxiedPort: number;
  /** A seller for each attack. */
  attackers: Caller[];
  others: Caller[];
}

export type Rss = Record<string, { before: number; peak: number }>;

export interface RunningTarget {
  target: Target;
  /** Of the process at `target.port`. */
  apiPid: () => number;
  /** Measures the memory of each process from now on. */
  watch: () => { read: () => Rss; now: () => Record<string, number> };
  /** Starts the processes that have ended, and returns their names. */
  restart: () => Promise<string[]>;
  /** Leaves its processes to `killProcesses`, which also ends those of a failed start. */
  stop: () => void;
}

/**
 * Starts an API, a worker, and an API behind a proxy, with default limits and a new database.
 * @param attackers their number
 */
export async function startTarget(attackers: number): Promise<RunningTarget> {
  const { db, url: databaseUrl } = await createDatabase();
  const sellers = await Promise.all(
    Array.from({ length: attackers + OTHERS }, async () => {
      const { id } = await createSeller(db, undefined, { sandbox: true });
      const keys = await Promise.all(Array.from({ length: KEYS_PER_SELLER }, () => createSellerKey(db, id)));
      return { id, keys };
    }),
  );
  await db.end();
  const address = process.env.TEST_TEMPORAL_ADDRESS!;
  const namespace = `attack-${randomBytes(6).toString('hex')}`;
  const client = createTemporalClient({ connectionOptions: { address }, namespace });
  await ensureNamespace(client);
  await client.connection.close();
  const env = {
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_HEALTH_PORT: '0',
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    CHECKOUT_BASE_URL: 'https://checkout.example',
    HOSTED_CHECKOUT: 'true',
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
  const behindProxy = { ...env, TRUSTED_PROXIES: '1' };
  const starts: Record<string, () => Promise<ServiceProcess>> = {
    API: () => startProcess('server', env, { nodeOptions: NODE_OPTIONS }),
    worker: () => startProcess('worker', env, { nodeOptions: NODE_OPTIONS }),
    'proxied API': () => startProcess('server', behindProxy, { nodeOptions: NODE_OPTIONS }),
  };
  const processes = new Map<string, ServiceProcess>();
  const target = { port: 0, proxiedPort: 0, attackers: sellers.slice(OTHERS), others: sellers.slice(0, OTHERS) };
  const start = async (name: string): Promise<void> => void processes.set(name, await starts[name]!());
  const isRunning = (name: string): boolean => processes.get(name)?.isRunning() ?? false;
  const updatePorts = (): void => {
    target.port = processes.get('API')!.port;
    target.proxiedPort = processes.get('proxied API')!.port;
  };
  await Promise.all(Object.keys(starts).map(start));
  updatePorts();

  const enforce = setInterval(() => {
    for (const process of processes.values()) {
      if (process.isRunning() && rssOf(process.pid) > MEMORY_LIMIT_MB) void process.signal('SIGKILL');
    }
  }, WATCH_MS);

  return {
    target,
    apiPid: () => processes.get('API')!.pid,
    watch() {
      const watches = [...processes].map(([name, { pid }]) => ({ name, pid, memory: watchMemory(pid) }));
      const peaks = new Map(watches.map(({ name, memory }) => [name, memory.read()]));
      // A process that is killed takes its counters with it.
      const sample = (): void => {
        for (const { name, pid, memory } of watches) if (rssOf(pid) > 0) peaks.set(name, memory.read());
      };
      const timer = setInterval(sample, WATCH_MS);
      return {
        read() {
          clearInterval(timer);
          sample();
          return Object.fromEntries(peaks);
        },
        now: () => Object.fromEntries(watches.map(({ name, pid }) => [name, rssOf(pid)])),
      };
    },
    async restart() {
      const ended = Object.keys(starts).filter((name) => !isRunning(name));
      await Promise.all(ended.map(start));
      updatePorts();
      return ended;
    },
    stop: () => clearInterval(enforce),
  };
}

/** Resident memory in MB; 0 if the process has just ended. */
function rssOf(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes ?? 0) / 1024);
  } catch {
    return 0;
  }
}
