import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A part of the stack that runs in processes of its own and can be killed, frozen and started again. */
export interface Part {
  name: string;
  isRunning: () => boolean;
  /** Its processes, the parent first. Empty if it does not run. */
  pids: () => number[];
  start: () => Promise<void>;
  /** Sends a signal and waits until the part has ended. */
  end: (signal: 'SIGKILL' | 'SIGTERM') => Promise<void>;
}

/** A part whose end is a fault of the service unless the harness caused it. No part starts again by itself. */
export interface WatchedPart {
  /** From now until the next start, the end of the part is no fault: the harness ends it without `end`. */
  expectEnd: () => void;
  /** True if it has ended by itself since the last call, or does not run. */
  isFaulty: () => boolean;
}

export function watch<P extends Part>(part: P): P & WatchedPart {
  const { start, end } = part;
  let isEndExpected = true;
  let hasEnded = false;
  const check = (): void => {
    if (isEndExpected || part.isRunning()) return;
    hasEnded = true;
    isEndExpected = true;
  };
  return Object.assign(part, {
    async start() {
      check();
      await start();
      isEndExpected = false;
    },
    async end(signal: 'SIGKILL' | 'SIGTERM') {
      check();
      isEndExpected = true;
      await end(signal);
    },
    expectEnd: () => void (isEndExpected = true),
    isFaulty() {
      check();
      const isFaulty = hasEnded || !part.isRunning();
      hasEnded = false;
      return isFaulty;
    },
  });
}

/** Freezes a part while `meanwhile` runs: its connections stay open and nothing answers. */
export async function freeze(part: Part, meanwhile: () => Promise<unknown>): Promise<void> {
  const frozen = new Set<number>();
  // A parent can fork while its children are being stopped, so it is stopped first, and its children are listed again.
  for (let round = 0; round < 2; round++) {
    for (const pid of part.pids()) if (!frozen.has(pid) && signal(pid, 'SIGSTOP')) frozen.add(pid);
  }
  try {
    if (frozen.size === 0) throw new Error(`it hit nothing: ${part.name} has no process that can be frozen`);
    await meanwhile();
  } finally {
    for (const pid of frozen) signal(pid, 'SIGCONT');
  }
}

export async function restart(part: Part, how: 'SIGKILL' | 'SIGTERM', downMs = 0): Promise<void> {
  await part.end(how);
  await delay(downMs);
  await part.start();
}

/** Lets a frozen part go on. */
export function resume(part: Part): void {
  for (const pid of part.pids()) signal(pid, 'SIGCONT');
}

/** The process and its children. */
export function processTree(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return [pid, ...(children === '' ? [] : children.split(' ').map(Number))];
  } catch {
    return [];
  }
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
