import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { freePort, isPortFree } from './ports';

/** Internal ports of the server: its four services have a membership port each, three of them also a gRPC port. */
const COUNT = 7;

/**
 * Milliseconds for which a server trusts the members that an earlier run left in its database:
 * healthyHostLastHeartbeatCutoff in the server's common/membership/ringpop, plus a margin.
 */
const MEMBERS_EXPIRE_AFTER_MS = 22_000;

/**
 * The server's internal ports, the same in each run if possible. If a server restarts on other ports, its services try
 * to reach each other on the old ones and dispatch no task for 40 to 50 seconds. Therefore, if an old port is in use,
 * this waits until the old members have expired and then chooses new ports.
 */
export async function internalPorts(dir: string, database: string, taken: number[], log: (line: string) => void) {
  const file = join(dir, 'internal-ports.json');
  const previous = read(file);
  if (previous && !previous.some((port) => taken.includes(port)) && (await allFree(previous))) return previous;

  const wait = lastWritten(join(dir, database)) + MEMBERS_EXPIRE_AFTER_MS - Date.now();
  if (wait > 0) {
    log(`Temporal: a port of the last run is in use; starting on new ports in ${Math.ceil(wait / 1000)} s`);
    await delay(wait);
  }
  const ports = new Set<number>();
  while (ports.size < COUNT) {
    const port = await freePort();
    if (!taken.includes(port)) ports.add(port);
  }
  writeFileSync(file, JSON.stringify([...ports]));
  return [...ports];
}

async function allFree(ports: number[]): Promise<boolean> {
  return (await Promise.all(ports.map(isPortFree))).every(Boolean);
}

function lastWritten(database: string): number {
  const times = ['', '-wal'].map((end) => statSync(database + end, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}

function read(file: string): number[] | undefined {
  try {
    const ports = JSON.parse(readFileSync(file, 'utf8')) as number[];
    return ports.length === COUNT ? ports : undefined;
  } catch {
    return undefined;
  }
}
