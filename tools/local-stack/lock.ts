import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive, type ProcessId } from './process-table';

/**
 * Runs the work while nobody else on this machine holds the lock. The lock of a process that died is taken over; two
 * that do so at the same moment may both go on, so the work has to bear that.
 */
export async function withLock<T>(path: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  for (let waited = false; !take(path); waited = true) {
    if (!waited) onWait();
    await sleep(200);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function take(path: string): boolean {
  // Written aside and linked, so that a lock is never seen without its holder's name.
  const note = `${path}.${process.pid}`;
  writeFileSync(note, JSON.stringify(identify(process.pid)));
  try {
    linkSync(note, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (isAlive(holderOf(path))) return false;
  } finally {
    rmSync(note, { force: true });
  }
  rmSync(path, { force: true });
  return take(path);
}

function holderOf(path: string): ProcessId {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessId;
  } catch {
    // Let go of in this very moment.
    return { pid: 0, started: '' };
  }
}
