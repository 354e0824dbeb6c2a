import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { freePort, isPortFree } from './ports';

/** How many ports the server needs for itself: four services, all with a membership port, three with a gRPC port. */
const COUNT = 7;

/**
 * Milliseconds for which a server believes in the members that an earlier run left in its database
 * (healthyHostLastHeartbeatCutoff in the server's common/membership/ringpop, and a little more).
 */
const MEMBERS_FORGOTTEN_AFTER = 22_000;

/**
 * The server's inner ports, the same in each run where possible: started again soon on others, its services look for
 * each other where they were before, and no task is handed out for 40 to 50 seconds. If one has been taken since, new
 * ones are chosen once the old ones are forgotten.
 */
export async function innerPorts(dir: string, database: string, taken: number[], log: (line: string) => void) {
  const file = join(dir, 'inner-ports.json');
  const kept = read(file);
  if (kept && !kept.some((port) => taken.includes(port)) && (await allFree(kept))) return kept;

  const wait = lastWritten(join(dir, database)) + MEMBERS_FORGOTTEN_AFTER - Date.now();
  if (wait > 0) {
    log(`Temporal: its last run used other ports and is not forgotten yet; starting in ${Math.ceil(wait / 1000)} s`);
    await sleep(wait);
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
