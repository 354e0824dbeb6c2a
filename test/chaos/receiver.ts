import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { Part } from './part';

/** How the receiver fails at the path of this name: `/late`. */
export const RECEIVER_FAULTS = ['late', '500', '429', '410', 'redirect', 'endless', 'drip', 'reset'] as const;
export type ReceiverFault = (typeof RECEIVER_FAULTS)[number];

/** A line of the receiver's log: a request, its response, and the end of its connection. Times are unix ms. */
export type Logged =
  | ({ call: string } & Omit<Received, 'status' | 'retryAfterS' | 'closedAt'>)
  | { call: string; status: number; retryAfterS: number; at: number }
  | { call: string; closedAt: number };

/** One request as the receiver logged it. */
export interface Received {
  order: string;
  sequence: number;
  /** The header `webhook-id`. */
  id: string;
  /** The header `webhook-timestamp`. */
  timestamp: string;
  /** The header `webhook-signature`. */
  signature: string;
  digest: string;
  path: string;
  at: number;
  /** Undefined if the receiver did not respond. */
  status?: number;
  /** Of its response; 0 without `Retry-After`. */
  retryAfterS?: number;
  /** Undefined if the receiver was killed first. */
  closedAt?: number;
}

export interface ReceiverPart extends Part {
  port: number;
  tlsPort: number;
  /** True: the paths of faults fail. */
  setFailing: (isFailing: boolean) => void;
  /** The size of the log: where the next run's part begins. */
  logSize: () => number;
  read: (from: number) => Received[];
}

export function createReceiver(logFile: string, port: number, tlsPort: number, host = '127.0.0.1'): ReceiverPart {
  let child: ChildProcess | undefined;
  let isFailing = false;
  const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  const logSize = (): number => statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  return {
    name: 'receiver',
    port,
    tlsPort,
    isRunning,
    pids: () => (isRunning() ? [child!.pid!] : []),
    async start() {
      child = fork(
        path.join(PACKAGE_ROOT, 'dist/test/chaos/receiver-process.js'),
        [logFile, String(port), String(tlsPort), host],
        {
          // Otherwise an interrupt in the terminal would end it before the run's last webhooks.
          detached: true,
        },
      );
      await once(child, 'message');
      child.send(isFailing);
    },
    async end(signal) {
      if (!isRunning()) return;
      const exited = once(child!, 'exit');
      child!.kill(signal);
      await exited;
    },
    setFailing(next) {
      isFailing = next;
      if (isRunning()) child!.send(next);
    },
    logSize,
    read: (from) => parseLog(readFrom(logFile, from)),
  };
}

function readFrom(file: string, from: number): string {
  const size = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) - from;
  if (size <= 0) return '';
  const buffer = Buffer.alloc(size);
  const fd = openSync(file, 'r');
  readSync(fd, buffer, 0, size, from);
  closeSync(fd);
  return buffer.toString();
}

function parseLog(text: string): Received[] {
  const calls = new Map<string, Received>();
  for (const line of text.split('\n').filter((one) => one.endsWith('}'))) {
    const logged = JSON.parse(line) as Logged;
    const { call, ...fields } = logged;
    if ('order' in logged) calls.set(call, fields as Received);
    else if ('status' in logged)
      Object.assign(calls.get(call) ?? {}, { status: logged.status, retryAfterS: logged.retryAfterS });
    else Object.assign(calls.get(call) ?? {}, { closedAt: logged.closedAt });
  }
  return [...calls.values()];
}
