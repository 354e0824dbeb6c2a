import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

interface ChildSpec {
  name: string;
  command: string[];
  logFile: string;
  cwd?: string;
  /** Ends the process cleanly. */
  stopSignal: NodeJS.Signals;
}

export interface Child {
  pid: number;
  /** Resolves when the process has ended, for any reason, with a description of how it ended. */
  exited: Promise<string>;
  /** Waits until `answers` returns true. Returns what went wrong if the process ends or the time is over. */
  untilReady(limitMs: number, answers: () => boolean | Promise<boolean>): Promise<string | undefined>;
  /** The end of what the process has written to its log. */
  output(): string;
  /** Ends the process cleanly, or with SIGKILL after `STOP_LIMIT_MS`. */
  stop(): Promise<void>;
  /** Sends a signal. SIGKILL also waits until the process has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Milliseconds from the first signal to SIGKILL. */
const STOP_LIMIT_MS = 10_000;
const ROTATE_LOG_AT_BYTES = 10 * 1024 * 1024;

/** For servers: no other variables, such as PG…, TEMPORAL_… and proxies, which are for other programs. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, TZ, LD_LIBRARY_PATH } = process.env;
  return { PATH, HOME, TMPDIR, TZ, LD_LIBRARY_PATH, LC_ALL: 'C' };
}

const running = new Set<number>();
// Such as after a second Ctrl-C, or while a child starts: nothing else would end it.
process.once('exit', () => running.forEach((pid) => send(pid, 'SIGKILL')));

/**
 * Starts a process whose output goes to a log file. The process gets a process group of its own, so that Ctrl-C in a
 * terminal reaches only this process, which then stops its children in order. A child does not keep this process alive,
 * and is killed when this process exits.
 */
export async function startChild({ name, command, logFile, cwd, stopSignal }: ChildSpec): Promise<Child> {
  if (sizeOf(logFile) > ROTATE_LOG_AT_BYTES) renameSync(logFile, `${logFile}.old`);
  const earlierOutput = sizeOf(logFile);
  const log = openSync(logFile, 'a');
  const [program, ...args] = command as [string, ...string[]];
  const child = spawn(program, args, { cwd, env: serverEnvironment(), detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.unref();
  if (child.pid !== undefined) running.add(child.pid);
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      running.delete(child.pid as number);
      resolve(signal ? `ended by ${signal}` : `ended with code ${code ?? '?'}`);
    });
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} could not be started: ${await exited}`);
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  return {
    pid,
    exited,
    async untilReady(limitMs, answers) {
      const deadline = Date.now() + limitMs;
      while (isRunning()) {
        if (await answers()) return undefined;
        if (Date.now() > deadline) return `no answer after ${limitMs / 1000} s`;
        await delay(25);
      }
      return exited;
    },
    output: () => readFileSync(logFile).subarray(earlierOutput).subarray(-4096).toString(),
    async stop() {
      // Keeps this process alive until the child has ended.
      child.ref();
      await end(pid, stopSignal, isRunning);
    },
    async kill(signal) {
      send(pid, signal);
      if (signal !== 'SIGKILL') return;
      child.ref();
      await exited;
    },
  };
}

/**
 * Ends the process that a killed run left behind, if there is one.
 * @param pidFile its first line is the pid
 * @param argument identifies the process: a later one can have its pid
 */
export async function stopLeftover(pidFile: string, argument: string, signal: NodeJS.Signals): Promise<void> {
  const pid = Number(readLines(pidFile)[0]);
  await end(pid, signal, () => commandLine(pid).includes(` ${argument} `));
}

/** The lines of a file; none if it does not exist. */
export function readLines(file: string): string[] {
  return sizeOf(file) > 0 ? readFileSync(file, 'utf8').split('\n') : [];
}

/** The command line, its words separated by spaces; empty if there is no such process. */
export function commandLine(pid: number): string {
  if (!(pid > 0)) return '';
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
  return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
}

/** Sends the signal, then SIGKILL if the process has not ended after `STOP_LIMIT_MS`. */
async function end(pid: number, signal: NodeJS.Signals, isRunning: () => boolean): Promise<void> {
  for (const next of [signal, 'SIGKILL'] as const) {
    if (!isRunning()) return;
    send(pid, next);
    // A suspended process (SIGSTOP) cannot handle the signal.
    send(pid, 'SIGCONT');
    const deadline = Date.now() + STOP_LIMIT_MS;
    while (isRunning() && Date.now() < deadline) await delay(25);
  }
  if (isRunning()) throw new Error(`process ${pid} did not end after SIGKILL`);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    // To the whole group, because a program on PATH can be a script that runs the real one.
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
