import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { openLog, type LogFile } from './log-file';
import { commandLine, identify, isAlive, waitUntilGone, type ProcessId } from './process-table';

export type ChildSpec = {
  /** For people, in messages. */
  name: string;
  /** Absolute path. */
  binary: string;
  args: string[];
  /** A command that the binary is run through, and which ends by exec. */
  via?: string[];
  /** The file that names the running process, for a later start to find it if this one is killed. */
  pidFile: string;
  logFile: string;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  uid?: number | undefined;
  gid?: number | undefined;
  /** What ends it cleanly; SIGTERM by default. */
  stopSignal?: NodeJS.Signals;
};

export type Child = {
  pid: number;
  log: LogFile;
  /** Resolves when the process has ended, for whatever reason, with a word on how. */
  exited: Promise<string>;
  running(): boolean;
  /** Ends it cleanly; by force after `STOP_LIMIT`. */
  stop(): Promise<void>;
  /** Sends a signal; after SIGKILL waits until it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
};

type PidRecord = { child: ProcessId; binary: string; owner: ProcessId | undefined };

/** Milliseconds from the polite signal to SIGKILL. */
const STOP_LIMIT = 10_000;

/**
 * Starts a process in a process group of its own, so that a terminal's Ctrl-C reaches only us and we decide who stops
 * when; its output goes to its log file. It does not keep this process alive, and outlives it when it is SIGKILLed:
 * the next start ends it by `stopLeftover`.
 */
export async function startChild(spec: ChildSpec): Promise<Child> {
  const log = openLog(spec.logFile);
  const [command, ...args] = [...(spec.via ?? []), spec.binary, ...spec.args];
  const { cwd, env, uid, gid } = spec;
  const options = { detached: true, stdio: ['ignore', log.fd, log.fd] as ['ignore', number, number] };
  const child = spawn(command as string, args, {
    ...options,
    ...(cwd !== undefined && { cwd }),
    ...(env && { env }),
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  });
  log.close();
  child.unref();
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code ?? '?'}`));
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${spec.name} could not be started: ${await exited}`);

  const id = identify(pid) ?? { pid, started: 'gone' };
  const record: PidRecord = { child: id, binary: basename(spec.binary), owner: identify(process.pid) };
  writeFileSync(spec.pidFile, JSON.stringify(record));
  const running = () => child.exitCode === null && child.signalCode === null;
  const stop = async () => {
    // Without this nothing might keep us alive until it has ended.
    child.ref();
    if (running()) await end(id, spec.stopSignal ?? 'SIGTERM');
    await exited;
    if (readRecord(spec.pidFile)?.child.pid === pid) rmSync(spec.pidFile, { force: true });
  };
  let stopping: Promise<void> | undefined;
  return {
    pid,
    log,
    exited,
    running,
    stop: () => (stopping ??= stop()),
    async kill(signal) {
      if (running()) send(id, signal);
      if (signal !== 'SIGKILL') return;
      child.ref();
      await exited;
    },
  };
}

/**
 * Ends the process that an earlier run, since killed, left behind; does nothing if there is none. Throws if its run is
 * still alive, as the data are in use then.
 */
export async function stopLeftover(spec: Pick<ChildSpec, 'name' | 'pidFile' | 'stopSignal'>): Promise<void> {
  const record = readRecord(spec.pidFile);
  if (record && isAlive(record.child) && commandLine(record.child.pid).includes(record.binary)) {
    const { owner } = record;
    if (owner && owner.pid !== process.pid && isAlive(owner))
      throw new Error(
        `${spec.name} is already running for process ${owner.pid}, on the same data: stop that one first`,
      );
    await end(record.child, spec.stopSignal ?? 'SIGTERM');
  }
  rmSync(spec.pidFile, { force: true });
}

/** The signal, then SIGKILL if the process outlives it by `STOP_LIMIT`. */
export async function end(id: ProcessId, signal: NodeJS.Signals): Promise<void> {
  send(id, signal);
  // One that is stopped (SIGSTOP) could not heed the first signal.
  send(id, 'SIGCONT');
  if (await waitUntilGone(id, STOP_LIMIT)) return;
  send(id, 'SIGKILL');
  if (!(await waitUntilGone(id, STOP_LIMIT))) throw new Error(`process ${id.pid} does not end, not even by SIGKILL`);
}

function send(id: ProcessId, signal: NodeJS.Signals): void {
  try {
    // The whole group: a binary on PATH may be a script around the real one.
    process.kill(-id.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readRecord(pidFile: string): PidRecord | undefined {
  try {
    return existsSync(pidFile) ? (JSON.parse(readFileSync(pidFile, 'utf8')) as PidRecord) : undefined;
  } catch {
    // Cut off while it was written: it says nothing.
    return undefined;
  }
}
