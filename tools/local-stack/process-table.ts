import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Identifies a process even if a later one gets the same pid. `started` is an opaque start time. */
export interface ProcessId {
  pid: number;
  started: string;
}

/** The process that has this pid now; undefined if there is none. A zombie does not count: it holds no resources. */
export function identify(pid: number): ProcessId | undefined {
  const stat = readProc(pid, 'stat');
  if (stat !== undefined) {
    // proc(5): field 2, the name in brackets, can contain anything. Field 3 is the state, field 22 the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[19] === undefined ? undefined : { pid, started: fields[19] };
  }
  if (process.platform === 'linux') return undefined;
  const started = ps(pid, 'lstart=');
  return started && !ps(pid, 'stat=').startsWith('Z') ? { pid, started } : undefined;
}

export function isAlive(known: ProcessId): boolean {
  return identify(known.pid)?.started === known.started;
}

/** The command line, its words separated by spaces; empty if there is no such process. */
export function commandLine(pid: number): string {
  if (process.platform === 'linux') return readProc(pid, 'cmdline')?.replaceAll('\0', ' ') ?? '';
  return ps(pid, 'command=');
}

/** Waits until the process has ended. Returns false if it has not ended after `limit` milliseconds. */
export async function waitUntilGone(known: ProcessId, limit: number): Promise<boolean> {
  const deadline = Date.now() + limit;
  while (isAlive(known)) {
    if (Date.now() >= deadline) return false;
    await delay(25);
  }
  return true;
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

function ps(pid: number, column: string): string {
  const { stdout } = spawnSync('ps', ['-ww', '-o', column, '-p', String(pid)], { encoding: 'utf8' });
  return typeof stdout === 'string' ? stdout.trim() : '';
}
